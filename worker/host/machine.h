// What this machine has, read from the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/resources.h"
#include "base/types/result.h"
#include "worker/host/worker_config.h"

namespace muster {

// Cpus, memory, features, address, kernel and release; no GPUs. kInvalid when the configuration
// wants more than there is, kUnavailable when the interface has no address.
Result<Inventory> read_machine(const WorkerConfig& config, const std::string& release);

Result<std::uint64_t> memory_total_mib(std::string_view meminfo);  // Of the text of /proc/meminfo.
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
