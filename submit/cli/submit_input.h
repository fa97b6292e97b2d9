// What gpusubmit reads from its surroundings: the script, the environment, and whether its
// directories can be used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/result.h"

namespace muster {

// The whole file, or standard input for "-". At most one byte over kScriptBytesMax is read, for
// parse_script() to see. kNotFound or kInvalid with the path and the reason.
Result<std::string> read_script(const std::string& path);

std::string current_directory();  // Absolute; empty when it has gone.
std::uint32_t current_umask();
std::vector<std::string_view> own_environment();  // "KEY=VALUE"; lives as long as the process.

// The directory to run in can be entered, and those of output and error can be written, by this
// user and seen from here. Directories with a pattern in them, and those that --mkdir will make,
// are left to the node.
Result<void> check_directories(const LaunchSpec& launch);

}  // namespace muster
