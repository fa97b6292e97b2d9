// Where the built things lie.
#include "plugin_rig.h"

#include <gtest/gtest.h>

#include <fstream>

namespace muster::testing {

std::string built(const std::string& path) { return std::string(MUSTER_BINARY_DIR) + "/" + path; }

PluginCall call_of(const std::string& plugin, const std::string& config) {
  PluginCall call;
  call.program = built("bin/muster-worker");
  call.plugin = plugin;
  call.config = config;
  call.deadline = seconds(20);
  return call;
}

std::string file_with(const std::string& text) {
  static int number = 0;
  std::string path = ::testing::TempDir() + "muster-gpus-" + std::to_string(::getpid()) + "-" +
                     std::to_string(++number) + ".toml";
  std::ofstream(path) << text;
  return path;
}

}  // namespace muster::testing
