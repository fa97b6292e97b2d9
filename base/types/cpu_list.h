// Sets of CPUs as the kernel writes them: "0-3,8".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

constexpr std::uint32_t kCpuNumberMax = 65535;  // A CPU's own number.
constexpr std::size_t kCpusPerNodeMax = 8192;

// cpus: rising, each once.
std::string to_cpu_list(const std::vector<std::uint32_t>& cpus);

}  // namespace muster
