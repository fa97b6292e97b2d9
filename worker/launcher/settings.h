// What muster-launcher is told on its command line.
#pragma once

#include <cstdint>
#include <string>

#include "base/types/result.h"

namespace muster {

struct LauncherSettings {
  std::string state_dir;      // Attempts, epoch, scripts: survives a reboot.
  std::string run_dir;        // Of running attempts; best on a tmpfs. Default: state_dir.
  std::string socket_path;    // Where the worker connects.
  std::string keys_path;      // Pinned keys; owned by us, not writable by others.
  std::string node;           // The name orders must use.
  std::string shepherd_path;  // Default: muster-shepherd beside this program.
  std::string nccl_interface;
  std::string gloo_interface;
  std::string log_file;          // Instead of standard error.
  std::string cgroup;            // Of v2: jobs' groups lie below. Default: our own.
  std::uint32_t worker_uid = 0;  // Who may connect.
  std::uint32_t uid_min = 1000;  // Jobs of users below are refused.
  std::uint16_t port_first = 20000;
  std::uint16_t port_last = 20999;
  bool allow_root_jobs = false;
  bool single_user = false;  // Not root: jobs run as whoever we are.
};

std::string launcher_usage();
// kInvalid names the option; kNotFound for --help.
Result<LauncherSettings> parse_launcher_settings(int argc, const char* const* argv);

}  // namespace muster
