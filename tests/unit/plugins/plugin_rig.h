// Plugin calls of tests: through the real muster-worker, as its child.
#pragma once

#include <string>

#include "worker/host/plugin_host.h"

namespace muster::testing {

std::string built(const std::string& path);  // Below the build folder.
PluginCall call_of(const std::string& plugin, const std::string& config);
std::string file_with(const std::string& text);  // A file that goes with the process.

}  // namespace muster::testing
