// GPU plugins, called in a child process: a plugin that crashes or hangs costs that process only.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/types/resources.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct PluginCall {
  std::string
      program;  // This program: it is run with the arguments "plugin-call", plugin and config.
  std::string plugin;  // Path of the shared object.
  std::string config;
  Duration deadline;
  const std::atomic<bool>* stopped = nullptr;  // Optional: when it turns true the call is given up.
};

// "fake" and "nvml" are looked up beside the program (../plugins, ../lib/muster/plugins, plugins);
// a text with a slash is a path as it is. kNotFound names the places.
Result<std::string> find_plugin(const std::string& name, const std::string& program);
std::string own_program();  // The path of the running program.

// The GPUs by index. kUnavailable when the plugin fails, dies or is not done by the deadline (it is
// killed then). Blocks until then. Thread-safe.
Result<std::vector<GpuFacts>> list_gpus(const PluginCall& call);

// The child's half: loads the plugin, writes what it lists to `out`, and returns the exit status.
int serve_plugin_call(const std::string& plugin, const std::string& config, int out);

}  // namespace muster
