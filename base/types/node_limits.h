// What one node may be asked for: commands say it in the user's own words, the controller insists.
#pragma once

#include <cstdint>

namespace muster {

constexpr std::uint32_t kCpusPerNodeMax = 1U << 16U;
constexpr std::uint32_t kGpusPerNodeMax = 256;

}  // namespace muster
