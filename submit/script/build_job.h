// From options to the job a controller is asked to take.
#pragma once

#include <string>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/result.h"
#include "submit/script/arguments.h"

namespace muster {

// What is known besides the options.
struct JobContext {
  WallTime now;                       // For times such as now+2h.
  std::string program = "gpusubmit";  // For messages.
  bool is_command = false;            // `-- command …`.
  std::string script_name;            // As typed; empty for a command.
  bool has_interpreter = false;       // Of the script.
  std::vector<std::string> argv;      // After the script's name, or the whole command.
  std::string cwd;                    // Absolute: where --chdir starts from.
  std::uint32_t umask_bits = 022;
};

struct BuiltJob {
  JobSpec spec;
  LaunchSpec launch;
  std::vector<std::string> warnings;  // One line each.
};

// options: the script's first, then the command line's, which win. kInvalid or kLimit in one line.
Result<BuiltJob> build_job(const Arguments& options, const JobContext& context);

}  // namespace muster
