// How much usage may be set by hand: commands say it in the user's own words, the controller
// insists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

constexpr std::uint64_t kGpuSecondsSetMax = 1'000'000'000'000;  // A million GPUs for 11 days.
constexpr std::size_t kUsageLinesMax = 10'000;                  // At once.

}  // namespace muster
