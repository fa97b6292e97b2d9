// Sets of CPUs as the kernel writes them: "0-3,8".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/node_limits.h"

namespace muster {

constexpr std::uint32_t kCpuNumberMax = kCpusPerNodeMax - 1;  // A CPU's own number.

// cpus: rising, each once.
std::string to_cpu_list(const std::vector<std::uint32_t>& cpus);

}  // namespace muster
