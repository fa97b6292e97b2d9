// gpusim: the production engine on traces. One subcommand for each kind of experiment.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "controller/config/setting.h"
#include "controller/sim/openb.h"
#include "controller/sim/openb_trace.h"
#include "controller/sim/openb_variant.h"
#include "controller/sim/replay/replay.h"
#include "controller/state/state_run.h"

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
  std::vector<std::string> pods;
  std::vector<std::string> variants;
  std::string seeds = "42-51";
  std::string policy = "muster";
  std::vector<std::string> compare;
  bool json = false;
};

double thousandths(double value) { return std::round(value * 1000) / 1000; }

// One list under one policy.
struct OpenbRun {
  std::string workload;
  muster::OpenbResult result;
  double seconds = 0;
};

// Times a run. A person at a terminal who has waited for a while is told how far it is.
class Stopwatch {
 public:
  explicit Stopwatch(std::string what) : what_(std::move(what)) {}
  ~Stopwatch() {
    if (has_told_) std::fprintf(stderr, "\r\x1b[K");
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }
  void tell(std::uint64_t seed, const muster::SeedRange& seeds) {
    constexpr double kQuietSeconds = 2;
    if (!is_watched_ || seconds() < kQuietSeconds) return;
    has_told_ = true;
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::fprintf(stderr, "\r%s: seed %llu of %llu to %llu", what_.c_str(), number(seed),
                 number(seeds.first), number(seeds.last));
  }

 private:
  std::string what_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool is_watched_ = isatty(STDERR_FILENO) != 0;
  bool has_told_ = false;
};

OpenbRun run_policy(const muster::OpenbTrace& trace, const std::string& name,
                    const muster::SeedRange& seeds) {
  muster::OpenbPolicy policy{};
  muster::enum_from_name(name, policy);  // The command line took only names that there are.
  Stopwatch watch(trace.workload + " " + name);
  OpenbRun run{trace.workload, {}, 0};
  run.result =
      muster::run_openb(trace, policy, seeds,
                        [&](muster::OpenbPolicy, std::uint64_t seed) { watch.tell(seed, seeds); });
  run.seconds = watch.seconds();
  return run;
}

// The policy is above or below another where zero is outside the interval.
struct OpenbComparison {
  std::string workload;
  std::string policy;
  std::string against;
  muster::PairedDifference difference;
  const char* verdict() const {
    const bool is_shown = difference.half && std::abs(difference.mean) > *difference.half;
    return !is_shown ? "not shown" : difference.mean > 0 ? "above" : "below";
  }
};

OpenbComparison compare(const OpenbRun& own, const OpenbRun& other) {
  return {own.workload, std::string(muster::name_of(own.result.policy)),
          std::string(muster::name_of(other.result.policy)),
          muster::paired_difference(own.result, other.result)};
}

// JSON goes out line by line; people get one table of what was measured and one of differences.
class OpenbReport {
 public:
  explicit OpenbReport(bool json) : json_(json) {
    if (!json_)
      std::printf("%-20s %-8s %9s %7s %7s %6s\n", "WORKLOAD", "POLICY", "ALLOTTED", "LEAST", "MOST",
                  "SEEDS");
  }
  void add(const OpenbRun& run) const {
    const muster::OpenbResult& result = run.result;
    const std::string policy(muster::name_of(result.policy));
    if (json_) {
      print({{"workload", run.workload},
             {"policy", policy},
             {"allocated_percent_mean", thousandths(result.mean())},
             {"min", thousandths(result.min())},
             {"max", thousandths(result.max())},
             {"seeds", result.allocated.size()},
             {"seconds", thousandths(run.seconds)}});
      return;
    }
    std::printf("%-20s %-8s %7.2f %% %7.2f %7.2f %6zu\n", run.workload.c_str(), policy.c_str(),
                result.mean(), result.min(), result.max(), result.allocated.size());
    std::fflush(stdout);
  }
  void add(const OpenbComparison& comparison) {
    if (!json_) return comparisons_.push_back(comparison);
    const auto& [mean, half] = comparison.difference;
    nlohmann::ordered_json line{{"workload", comparison.workload},
                                {"policy", comparison.policy},
                                {"against", comparison.against},
                                {"difference_mean", thousandths(mean)},
                                {"low_95", nullptr},
                                {"high_95", nullptr},
                                {"verdict", comparison.verdict()}};
    if (half) {
      line["low_95"] = thousandths(mean - *half);
      line["high_95"] = thousandths(mean + *half);
    }
    print(line);
  }
  void end() const {
    if (comparisons_.empty()) return;
    std::printf("\n%-20s %-8s %-8s %10s %18s  %s\n", "WORKLOAD", "POLICY", "AGAINST", "DIFFERENCE",
                "95 % INTERVAL", "VERDICT");
    for (const OpenbComparison& one : comparisons_) {
      const auto& [mean, half] = one.difference;
      std::string interval = "-";
      if (half) interval = signed_text(mean - *half) + " to " + signed_text(mean + *half);
      std::printf("%-20s %-8s %-8s %10s %18s  %s\n", one.workload.c_str(), one.policy.c_str(),
                  one.against.c_str(), signed_text(mean).c_str(), interval.c_str(), one.verdict());
    }
  }

 private:
  static void print(const nlohmann::ordered_json& line) {
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  static std::string signed_text(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%+.3f", value);
    return text.data();
  }
  bool json_;
  std::vector<OpenbComparison> comparisons_;
};

// Every list as it is, or its variants.
muster::Result<std::vector<muster::OpenbTrace>> read_lists(
    const OpenbOptions& options, const std::vector<muster::OpenbVariant>& variants) {
  std::vector<muster::OpenbTrace> traces;
  for (const std::string& path : options.pods) {
    const auto trace = muster::read_openb(options.nodes, path);
    if (!trace) return trace.error();
    if (variants.empty()) traces.push_back(*trace);
    for (const muster::OpenbVariant& variant : variants) {
      const auto varied = muster::vary(*trace, variant);
      if (!varied) return varied.error();
      traces.push_back(*varied);
    }
  }
  return traces;
}

int refuse_usage(const char* option, const std::string& why) {
  std::fprintf(stderr, "gpusim: %s %s\n", option, why.c_str());
  return muster::kExitUsage;
}

int run_openb(const OpenbOptions& options) {
  const auto seeds = muster::parse_seeds(options.seeds);
  if (!seeds) return refuse_usage("--seeds", seeds.error().message);
  std::vector<muster::OpenbVariant> variants;
  for (const std::string& text : options.variants) {
    const auto variant = muster::parse_variant(text);
    if (!variant) return refuse_usage("--vary", variant.error().message);
    variants.push_back(*variant);
  }
  for (const std::string& other : options.compare) {
    if (other == options.policy) return refuse_usage("--compare", other + ": with itself");
  }
  const auto traces = read_lists(options, variants);
  if (!traces) return end_with(traces.error());
  OpenbReport report(options.json);
  for (const muster::OpenbTrace& trace : *traces) {
    const OpenbRun own = run_policy(trace, options.policy, *seeds);
    report.add(own);
    for (const std::string& name : options.compare) {
      const OpenbRun other = run_policy(trace, name, *seeds);
      report.add(other);
      report.add(compare(own, other));
    }
  }
  report.end();
  return 0;
}

Subcommand add_openb(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("openb", "how many GPUs are allotted when all are asked for");
  const auto options = std::make_shared<OpenbOptions>();
  const CLI::IsMember policies({"muster", "fgd", "bestfit"});
  command->add_option("--nodes", options->nodes, "node list (csv)")->required();
  command->add_option("--pods", options->pods, "pod list (csv); one or several")->required();
  command->add_option("--vary", options->variants,
                      "instead of each list one drawn from it: share=P, multi=P, spec=P, cpu=P");
  command->add_option("--seeds", options->seeds, "one, or a range such as 42-51");
  command->add_option("--policy", options->policy, "muster, fgd or bestfit")->check(policies);
  command->add_option("--compare", options->compare, "policies to compare with, seed by seed")
      ->delimiter(',')
      ->check(policies);
  command->add_flag("--json", options->json, "one JSON object a line");
  return {command, [options] { return run_openb(*options); }};
}

struct ReplayOptions {
  muster::ReplayRequest request;
  std::string format = "philly";
  std::string policy = "muster";
  std::string order;  // Empty: shortest, or attained when jobs may be stopped.
  std::optional<std::uint32_t> preempt_cost;
  std::string limits = "none";
  std::uint32_t from_day = 0;
  std::uint32_t days = 0;  // To the end.
  std::string chart;
  bool json = false;
};

double rounded(double value, double steps_per_one) {
  return std::round(value * steps_per_one) / steps_per_one;
}

nlohmann::ordered_json json_of(const ReplayOptions& options, const muster::ReplayFigures& figures,
                               double seconds) {
  nlohmann::ordered_json json{{"policy", options.policy},
                              {"jobs", figures.jobs},
                              {"mean_wait_s", rounded(figures.mean_wait_s, 10)},
                              {"p95_wait_s", rounded(figures.p95_wait_s, 10)},
                              {"mean_completion_s", rounded(figures.mean_completion_s, 10)},
                              {"p99_completion_s", rounded(figures.p99_completion_s, 10)},
                              {"utilisation", rounded(figures.utilisation, 10000)},
                              {"wide_p95_wait_s", rounded(figures.wide_p95_wait_s, 10)},
                              {"max_wait_s", rounded(figures.max_wait_s, 10)}};
  if (options.preempt_cost) json["stops"] = figures.stops;
  json["seconds"] = rounded(seconds, 1000);
  return json;
}

std::string title_of(const ReplayOptions& options) {
  const muster::SimNodes& nodes = options.request.nodes;
  const std::string& file = options.request.file;
  return options.policy + ": " + file.substr(file.find_last_of('/') + 1) + " on " +
         std::to_string(nodes.nodes) + " nodes of " + std::to_string(nodes.gpus_per_node) + " GPUs";
}

// False, with a line about it, when the file cannot be written.
bool write_chart(const ReplayOptions& options, const muster::Replay& replay) {
  const std::string title = title_of(options);
  std::string text = muster::svg_of(replay.series, replay.window, title);
  if (options.chart.ends_with(".html"))
    text = muster::html_of(text, title, muster::report_of(replay.figures));
  std::ofstream file(options.chart, std::ios::binary);
  file << text;
  file.close();
  if (!file.fail()) return true;
  std::fprintf(stderr, "gpusim: %s: cannot be written: %s\n", options.chart.c_str(),
               std::strerror(errno));
  return false;
}

int run_replay(const ReplayOptions& options) {
  muster::ReplayRequest request = options.request;
  request.format = *muster::trace_format_of(options.format);
  request.policy = *muster::replay_policy_of(options.policy);
  request.window.from = muster::days(options.from_day);
  request.window.length = muster::days(options.days);
  request.charted = !options.chart.empty();
  const std::string order = !options.order.empty() ? options.order
                            : options.preempt_cost ? "attained"
                                                   : "shortest";
  if ((order == "attained") != options.preempt_cost.has_value())
    return refuse_usage("--preempt-cost", "goes with --order attained, and that with it");
  if (options.preempt_cost && options.policy != "muster")
    return refuse_usage("--preempt-cost", "goes with --policy muster");
  if (order == "shortest") request.engine.queue = muster::learning_queue();
  if (order == "attained") {
    request.engine.queue = muster::sharing_queue();
    request.engine.stop_cost = muster::seconds(*options.preempt_cost);
  }
  if (options.limits == "true") request.engine.limits = muster::ReplayLimits::kTrue;
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  if (shows_progress) {
    request.engine.progress = [](std::size_t ended) {
      std::fprintf(stderr, "\r%zu jobs have ended ", ended);
    };
  }
  const auto began = std::chrono::steady_clock::now();
  const auto replay = muster::replay_trace(request);
  if (shows_progress) std::fprintf(stderr, "\r\x1b[K");
  if (!replay) return end_with(replay.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (!options.chart.empty() && !write_chart(options, *replay)) return muster::kExitUnavailable;
  if (options.json)
    std::printf("%s\n", json_of(options, replay->figures, took.count()).dump().c_str());
  else
    std::printf("%s\n%s", title_of(options).c_str(), muster::report_of(replay->figures).c_str());
  return 0;
}

Subcommand add_replay(CLI::App& app) {
  CLI::App* command = app.add_subcommand("replay", "a trace of jobs under a scheduling policy");
  const auto options = std::make_shared<ReplayOptions>();
  muster::ReplayRequest& request = options->request;
  request.nodes = {72, 8};
  request.window.gpus_max = muster::kTraceGpusMax;
  command->add_option("--file", request.file, "the trace")->required();
  command
      ->add_option("--format", options->format,
                   "philly (csv), swf, sacct, or muster: its own job log")
      ->check(CLI::IsMember({"philly", "swf", "sacct", "muster"}));
  command->add_option("--from-day", options->from_day, "first day of the trace to replay")
      ->check(CLI::Range(0, 3650));
  command->add_option("--days", options->days, "how many days")->check(CLI::Range(1, 3650));
  command->add_option("--max-gpus", request.window.gpus_max, "leave out jobs that want more")
      ->check(CLI::Range(1U, muster::kTraceGpusMax));
  command->add_option("--nodes", request.nodes.nodes, "nodes of the simulated cluster")
      ->check(CLI::Range(1U, muster::kSimNodesMax));
  command->add_option("--gpus-per-node", request.nodes.gpus_per_node, "GPUs of each node")
      ->check(CLI::Range(1U, muster::kSimGpusPerNodeMax));
  command->add_option("--policy", options->policy, "fifo, easy, sjf-oracle or muster")
      ->check(CLI::IsMember({"fifo", "easy", "sjf-oracle", "muster"}));
  command
      ->add_option("--order", options->order,
                   "order of muster's queue: submit, shortest or attained")
      ->check(CLI::IsMember({"submit", "shortest", "attained"}));
  command
      ->add_option(
          "--preempt-cost", options->preempt_cost,
          "muster stops jobs for others; each goes on later and needs so many seconds more")
      ->check(CLI::Range(0U, 86'400U));
  command
      ->add_option("--limits", options->limits,
                   "time limits for muster: none, or the true run times")
      ->check(CLI::IsMember({"none", "true"}));
  command->add_option("--chart", options->chart, "also a picture: FILE.svg or FILE.html")
      ->check([](const std::string& name) {
        const bool known = name.ends_with(".svg") || name.ends_with(".html");
        return known ? std::string() : std::string("must end in .svg or .html");
      });
  command->add_flag("--json", options->json, "one JSON object");
  return {command, [options] { return run_replay(*options); }};
}

struct StateOptions {
  std::string dump;
  std::vector<std::string> nodes;
  std::vector<std::string> keys;
  bool json = false;
};

nlohmann::ordered_json json_of(const muster::StateOutcome& outcome) {
  nlohmann::ordered_json now = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outcome.started.size(); ++i)
    now.push_back({{"job", outcome.names[i]}, {"nodes", outcome.places[i]}});
  nlohmann::ordered_json later = nlohmann::ordered_json::array();
  for (const muster::ForeseenStart& start : outcome.later)
    later.push_back({{"job", start.name}, {"in_s", start.in.seconds()}});
  return {{"digest", outcome.digest},
          {"starts_now", now},
          {"stops_now", outcome.stopped},
          {"starts_later", later},
          {"start_not", outcome.waiting},
          {"mean_wait_s", rounded(outcome.mean_wait_s, 10)},
          {"max_wait_s", rounded(outcome.max_wait_s, 10)},
          {"utilisation", rounded(outcome.utilisation, 10000)}};
}

std::string time_text(double seconds) {
  return muster::to_text(muster::Duration{static_cast<std::int64_t>(seconds) * 1'000'000});
}

void print_state(const muster::StateOutcome& outcome) {
  constexpr std::size_t kLaterShown = 50;
  std::printf("Starts now:   %zu\n", outcome.started.size());
  for (std::size_t i = 0; i < outcome.started.size(); ++i)
    std::printf("  job %s on %s\n", outcome.names[i].c_str(), outcome.places[i].c_str());
  for (const std::string& name : outcome.stopped)
    std::printf("  job %s is stopped for it\n", name.c_str());
  std::printf("Starts later: %zu, when what runs ends as expected\n", outcome.later.size());
  for (std::size_t i = 0; i < outcome.later.size() && i < kLaterShown; ++i)
    std::printf("  job %s in %s\n", outcome.later[i].name.c_str(),
                muster::to_text(outcome.later[i].in).c_str());
  if (outcome.later.size() > kLaterShown) std::printf("  and so on; --json has all\n");
  std::printf("Does not:     %llu, within 30 days\n",
              static_cast<unsigned long long>(outcome.waiting));
}

muster::Result<muster::StateOutcome> run_dump(const StateOptions& options,
                                              const muster::StateChanges& changes) {
  muster::Result<muster::LoadedSnapshot> dump = muster::load_snapshot_file(options.dump);
  if (!dump) return dump.error();
  return muster::run_state(*std::move(dump), changes);
}

int run_state_command(const StateOptions& options) {
  const auto outcome = run_dump(options, {});
  if (!outcome) return end_with(outcome.error());
  if (options.json)
    std::printf("%s\n", json_of(*outcome).dump().c_str());
  else
    print_state(*outcome);
  return 0;
}

void print_comparison(const muster::StateOutcome& as_it_is, const muster::StateOutcome& changed) {
  std::printf("%-10s %10s %10s %10s %12s %12s %9s\n", "", "START NOW", "LATER", "NOT", "MEAN WAIT",
              "MAX WAIT", "GPUS USED");
  const auto line = [](const char* name, const muster::StateOutcome& outcome) {
    std::printf("%-10s %10zu %10zu %10llu %12s %12s %7.1f %%\n", name, outcome.started.size(),
                outcome.later.size(), static_cast<unsigned long long>(outcome.waiting),
                time_text(outcome.mean_wait_s).c_str(), time_text(outcome.max_wait_s).c_str(),
                outcome.utilisation * 100);
  };
  line("as it is", as_it_is);
  line("changed", changed);
}

int run_what_if(const StateOptions& options) {
  muster::StateChanges changes;
  for (const std::string& text : options.nodes) {
    const auto added = muster::parse_added_nodes(text);
    if (!added) return refuse_usage("--add-nodes", added.error().message);
    changes.nodes.push_back(*added);
  }
  changes.keys = options.keys;
  if (changes.nodes.empty() && changes.keys.empty())
    return refuse_usage("what-if:", "give --add-nodes or --set");
  const auto as_it_is = run_dump(options, {});
  if (!as_it_is) return end_with(as_it_is.error());
  const auto changed = run_dump(options, changes);
  if (!changed) return end_with(changed.error());
  if (options.json) {
    const nlohmann::ordered_json both{{"as_it_is", json_of(*as_it_is)},
                                      {"changed", json_of(*changed)}};
    std::printf("%s\n", both.dump().c_str());
  } else {
    print_comparison(*as_it_is, *changed);
  }
  return 0;
}

Subcommand add_state(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("state", "what a dump of a controller would start now, and when the rest");
  const auto options = std::make_shared<StateOptions>();
  command->add_option("DUMP", options->dump, "made by gpuadmin state dump")->required();
  command->add_flag("--json", options->json, "one JSON object");
  return {command, [options] { return run_state_command(*options); }};
}

Subcommand add_what_if(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("what-if", "the same of a dump with changes, beside that without");
  const auto options = std::make_shared<StateOptions>();
  command->add_option("DUMP", options->dump, "made by gpuadmin state dump")->required();
  command->add_option("--add-nodes", options->nodes, "4xn1: four nodes like n1; again for others");
  command->add_option("--set", options->keys, "KEY=VALUE: " + muster::settable_keys());
  command->add_flag("--json", options->json, "one JSON object");
  return {command, [options] { return run_what_if(*options); }};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs Muster's own scheduling on traces and dumps.", "gpusim"};
  app.set_version_flag("--version", std::string("gpusim ") + MUSTER_VERSION);
  app.require_subcommand(1);
  const std::vector<Subcommand> commands{add_openb(app), add_replay(app), add_state(app),
                                         add_what_if(app)};
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
