// What a worker needs to know: one TOML file, or flags.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct WorkerConfig {
  std::string node;
  std::string controller;  // Endpoint of its worker port: "tcp://ctl:7301".
  std::string bulk;        // Endpoint of its bulk port; empty: logs are not served.
  std::string server_key;  // Z85, or a file with it.
  std::string key_file;    // This node's key pair.
  std::string launcher;    // Path of the launcher's socket.
  std::string state_dir;

  std::string gpu_plugin = "none";  // "fake", "nvml", "none", or the path of a plugin.
  std::string gpu_config;
  Duration gpu_deadline = seconds(20);  // For one call of the plugin.
  Duration gpu_refresh = minutes(1);

  std::uint32_t cpus = 0;                 // 0: those of the machine that this process may use.
  std::uint64_t memory_mib = 0;           // 0: the machine's, less the reserve.
  std::uint32_t cpus_reserved = 0;        // Kept from jobs when cpus is not given.
  std::uint64_t memory_reserved_mib = 0;  // 0: 5 %, at least 512 MiB, when memory_mib is not given.
  std::string topology = "auto";          // Of cores: "auto", "none", or a file that lstopo wrote.
  std::vector<std::string> features;
  std::string switch_name;  // That the node hangs on; empty: the controller's configuration says.
  std::string interface;    // Where ranks meet; its first address is told.
  std::string address;      // Instead of the interface's.

  std::string log_file;
  std::string log_level = "info";
};

// Reads the file over what config holds. kInvalid names file, line and what was expected; kNotFound
// when it cannot be read.
Result<void> read_worker_config(const std::string& path, WorkerConfig& config);

// kInvalid with the first thing that is missing or cannot be right.
Result<void> check_worker_config(const WorkerConfig& config);

}  // namespace muster
