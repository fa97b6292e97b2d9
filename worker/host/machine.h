// What this machine has, read from the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/resources.h"
#include "base/types/result.h"
#include "worker/core/cpu_book.h"
#include "worker/host/worker_config.h"

namespace muster {

// Cpus, memory, features, address, kernel and release; no GPUs. kInvalid when the configuration
// wants more than there is, kUnavailable when the interface has no address.
Result<Inventory> read_machine(const WorkerConfig& config, const std::string& release);

// Leaves out CPUs that are not a whole core; where the configuration says how many there are it
// stays at that, and cores are only whole when that number is.
void give_whole_cores(const WorkerConfig& config, const CpuMachine& machine, Inventory& inventory);

// Of the text of /proc/meminfo: without what huge pages hold, which no job can use as memory.
Result<std::uint64_t> memory_total_mib(std::string_view meminfo);
Result<std::string> interface_address(const std::string& interface);
// The address this machine uses to reach the host of "tcp://host:port".
Result<std::string> address_towards(const std::string& endpoint);

std::string boot_id();  // Of the running kernel; empty when it does not tell.

// Makes the folder (mode 0700) unless it is there.
Result<void> make_state_dir(const std::string& path);

// A number above every one given out before from this folder; kept on disk. kUnavailable when it
// cannot be.
Result<std::uint64_t> next_incarnation(const std::string& state_dir);

}  // namespace muster
