// Choosing who schedules.
#include "controller/sim/replay/replay.h"

#include <array>
#include <cmath>
#include <utility>

#include "controller/sim/replay/comparison.h"

namespace muster {
namespace {

constexpr std::array<std::pair<std::string_view, ReplayPolicy>, 4> kPolicies{{
    {"fifo", ReplayPolicy::kFifo},
    {"easy", ReplayPolicy::kEasy},
    {"sjf-oracle", ReplayPolicy::kSjfOracle},
    {"muster", ReplayPolicy::kMuster},
}};

std::vector<Run> runs_of(const ReplayRequest& request, const std::vector<TraceJob>& jobs) {
  switch (request.policy) {
    case ReplayPolicy::kFifo:
      return run_comparison(ComparisonPolicy::kFifo, jobs, request.nodes);
    case ReplayPolicy::kEasy:
      return run_comparison(ComparisonPolicy::kEasy, jobs, request.nodes);
    case ReplayPolicy::kSjfOracle:
      return run_comparison(ComparisonPolicy::kSjfOracle, jobs, request.nodes);
    case ReplayPolicy::kMuster:
      break;
  }
  return run_engine(request.engine, jobs, request.nodes);
}

}  // namespace

std::optional<ReplayPolicy> replay_policy_of(std::string_view name) {
  for (const auto& [known, policy] : kPolicies) {
    if (known == name) return policy;
  }
  return std::nullopt;
}

std::string_view name_of(ReplayPolicy policy) {
  return kPolicies[static_cast<std::size_t>(policy)].first;
}

Result<Replay> replay_trace(const ReplayRequest& request) {
  TraceWindow window = request.window;
  if (window.length.us == 0) window.length = kTraceRunMax;
  const Result<std::vector<TraceJob>> jobs = read_trace(request.file, request.format, window);
  if (!jobs) return jobs.error();
  if (request.window.length.us == 0)
    window.length = days((jobs->back().submitted - Instant{}).seconds() / 86400 + 1);
  for (const TraceJob& job : *jobs) {
    if (request.nodes.nodes_of(job.gpus) <= request.nodes.nodes) continue;
    return fail(ErrorCode::kInvalid,
                request.file + ": a job wants " + std::to_string(job.gpus) +
                    " GPUs, more than there are: give more --nodes, or a lower --max-gpus");
  }
  const std::vector<Run> runs = runs_of(request, *jobs);
  Replay replay{figures_of(*jobs, runs, request.nodes, window.length), window.length, {}};
  if (request.charted) replay.series = series_of(*jobs, runs, request.nodes, window.length);
  return replay;
}

std::string report_of(const ReplayFigures& figures) {
  const auto time = [](double seconds) {
    return to_text(Duration{static_cast<std::int64_t>(seconds * 1e6)});
  };
  std::string report;
  report += "Jobs:         " + std::to_string(figures.jobs) + "\n";
  report += "Waiting:      " + time(figures.mean_wait_s) + " in the mean, 95 % no longer than " +
            time(figures.p95_wait_s) + ", the longest " + time(figures.max_wait_s) + "\n";
  report += "To the end:   " + time(figures.mean_completion_s) + " in the mean, 99 % within " +
            time(figures.p99_completion_s) + " of being submitted\n";
  report += "Wide jobs:    95 % waited no longer than " + time(figures.wide_p95_wait_s) + " (" +
            std::to_string(kWideGpus) + " GPUs or more)\n";
  if (figures.stops != 0)
    report += "Stopped:      " + std::to_string(figures.stops) + " times, to go on later\n";
  report += "GPUs in use:  " + std::to_string(std::lround(figures.utilisation * 100)) +
            " % of the window\n";
  return report;
}

}  // namespace muster
