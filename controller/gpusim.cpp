// gpusim: the production engine on traces. One subcommand for each kind of experiment.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "controller/sim/openb.h"
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
  std::string seeds = "42-51";
  std::vector<std::string> policies{"muster"};
  bool json = false;
};

double thousandths(double value) { return std::round(value * 1000) / 1000; }

struct OpenbRun {
  muster::OpenbResult result;
  double seconds = 0;
};

nlohmann::ordered_json json_of(const std::string& workload, const OpenbRun& run) {
  return {{"workload", workload},
          {"policy", muster::name_of(run.result.policy)},
          {"allocated_percent_mean", thousandths(run.result.mean())},
          {"min", thousandths(run.result.min())},
          {"max", thousandths(run.result.max())},
          {"seeds", run.result.allocated.size()},
          {"seconds", thousandths(run.seconds)}};
}

void print_openb(const std::string& workload, const OpenbRun& run, bool json) {
  if (json) {
    std::printf("%s\n", json_of(workload, run).dump().c_str());
    return;
  }
  std::printf("%-14s %-8s allocated %.2f %% (%.2f to %.2f, %zu seeds)\n", workload.c_str(),
              std::string(muster::name_of(run.result.policy)).c_str(), run.result.mean(),
              run.result.min(), run.result.max(), run.result.allocated.size());
}

void print_difference(const std::string& workload, const OpenbRun& a, const OpenbRun& b,
                      bool json) {
  const muster::PairedDifference difference = muster::paired_difference(a.result, b.result);
  const std::string name = std::string(muster::name_of(a.result.policy)) + "-" +
                           std::string(muster::name_of(b.result.policy));
  if (json) {
    nlohmann::ordered_json line{{"workload", workload},
                                {"difference", name},
                                {"mean", thousandths(difference.mean)},
                                {"half_width_95", nullptr}};
    if (difference.half) line["half_width_95"] = thousandths(*difference.half);
    std::printf("%s\n", line.dump().c_str());
    return;
  }
  std::printf("%-14s %s: %+.3f points", workload.c_str(), name.c_str(), difference.mean);
  if (difference.half) {
    const bool is_clear = std::abs(difference.mean) > *difference.half;
    std::printf(" +- %.3f (95 %%, paired by seed)%s", *difference.half,
                is_clear ? "" : ": no difference shown");
  }
  std::printf("\n");
}

int run_openb(const OpenbOptions& options) {
  const auto seeds = muster::parse_seeds(options.seeds);
  if (!seeds) {
    std::fprintf(stderr, "gpusim: --seeds %s\n", seeds.error().message.c_str());
    return muster::kExitUsage;
  }
  const auto trace = muster::read_openb(options.nodes, options.pods);
  if (!trace) return end_with(trace.error());
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  std::vector<OpenbRun> runs;
  for (const std::string& name : options.policies) {
    muster::OpenbPolicy policy{};
    muster::enum_from_name(name, policy);  // The command line took only names that there are.
    const auto begun = std::chrono::steady_clock::now();
    muster::OpenbProgress progress;
    if (shows_progress) {
      progress = [&name](muster::OpenbPolicy, std::uint64_t seed) {
        std::fprintf(stderr, "\r%s: seed %llu ", name.c_str(),
                     static_cast<unsigned long long>(seed));
      };
    }
    runs.push_back({muster::run_openb(*trace, policy, *seeds, progress), 0});
    runs.back().seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (shows_progress) std::fprintf(stderr, "\r\x1b[K");
    print_openb(trace->workload, runs.back(), options.json);
  }
  for (std::size_t i = 1; i < runs.size(); ++i)
    print_difference(trace->workload, runs[0], runs[i], options.json);
  return 0;
}

Subcommand add_openb(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("openb", "how many GPUs are allotted when all are asked for");
  const auto options = std::make_shared<OpenbOptions>();
  command->add_option("--nodes", options->nodes, "node list (csv)")->required();
  command->add_option("--pods", options->pods, "pod list (csv)")->required();
  command->add_option("--seeds", options->seeds, "one, or a range such as 42-51");
  command->add_option("--policy", options->policies, "muster, fgd, bestfit; several are compared")
      ->delimiter(',')
      ->check(CLI::IsMember({"muster", "fgd", "bestfit"}));
  command->add_flag("--json", options->json, "one JSON object a line");
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
