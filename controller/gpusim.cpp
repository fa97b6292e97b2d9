// gpusim: the production engine on traces. One subcommand for each kind of experiment.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "controller/sim/openb_trace.h"

namespace {

// Options are bound to what `run` holds, and `run` is called when the subcommand was given.
struct Subcommand {
  CLI::App* app;
  std::function<int()> run;  // Its result is the exit code.
};

// One line about what is wrong with an input, and the exit code.
int end_with(const muster::Error& error) {
  std::fprintf(stderr, "gpusim: %s\n", error.message.c_str());
  return error.code == muster::ErrorCode::kNotFound ? muster::kExitUnavailable : muster::kExitData;
}

struct OpenbOptions {
  std::string nodes;
  std::string pods;
};

int run_openb(const OpenbOptions& options) {
  const auto trace = muster::read_openb(options.nodes, options.pods);
  if (!trace) return end_with(trace.error());
  std::printf("%s: %zu nodes, %zu pods\n", trace->workload.c_str(), trace->nodes.size(),
              trace->pods.size());
  return 0;
}

Subcommand add_openb(CLI::App& app) {
  CLI::App* command = app.add_subcommand("openb", "GPUs allocated when a cluster is packed full");
  const auto options = std::make_shared<OpenbOptions>();
  command->add_option("--nodes", options->nodes, "node list (csv)")->required();
  command->add_option("--pods", options->pods, "pod list (csv)")->required();
  return {command, [options] { return run_openb(*options); }};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs Muster's own scheduling on traces.", "gpusim"};
  app.set_version_flag("--version", std::string("gpusim ") + MUSTER_VERSION);
  app.require_subcommand(1);
  const std::vector<Subcommand> commands{add_openb(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return muster::end_command_line(app, error);
  }
  for (const Subcommand& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return muster::kExitUsage;
}
