// Summing up a replay.
#include "controller/sim/replay/rehearsal.h"

#include <algorithm>

namespace muster {
namespace {

double seconds_of(Duration d) { return static_cast<double>(d.us) / 1e6; }

// The value that a share of all stays at or below, none in between made up.
double quantile(std::vector<std::int64_t>& values, std::size_t percent) {
  if (values.empty()) return 0;
  const std::size_t at = std::min(values.size() - 1, values.size() * percent / 100);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return static_cast<double>(values[at]) / 1e6;
}

}  // namespace

ReplayFigures figures_of(const std::vector<TraceJob>& jobs, const std::vector<Run>& runs,
                         const SimNodes& nodes, Duration window) {
  MUSTER_ASSERT(jobs.size() == runs.size() && !jobs.empty());
  ReplayFigures figures;
  std::vector<std::int64_t> waits;
  std::vector<std::int64_t> completions;
  std::vector<std::int64_t> wide;
  double gpu_seconds = 0;
  const Instant over = Instant{} + window;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Duration completion = runs[i].end - jobs[i].submitted;
    const Duration wait = completion - jobs[i].run;
    waits.push_back(wait.us);
    completions.push_back(completion.us);
    if (jobs[i].gpus >= kWideGpus) wide.push_back(wait.us);
    figures.mean_wait_s += seconds_of(wait);
    figures.mean_completion_s += seconds_of(completion);
    Duration within = std::min(runs[i].end, over) - std::min(runs[i].start, over);
    for (const Stretch& pause : runs[i].pauses)
      within = within - (std::min(pause.to, over) - std::min(pause.from, over));
    figures.stops += runs[i].pauses.size();
    gpu_seconds += seconds_of(within) * jobs[i].gpus;
  }
  const auto count = static_cast<double>(jobs.size());
  figures.jobs = jobs.size();
  figures.mean_wait_s /= count;
  figures.mean_completion_s /= count;
  figures.p95_wait_s = quantile(waits, 95);
  figures.p99_completion_s = quantile(completions, 99);
  figures.wide_p95_wait_s = quantile(wide, 95);
  figures.max_wait_s = static_cast<double>(*std::max_element(waits.begin(), waits.end())) / 1e6;
  figures.utilisation =
      gpu_seconds / (double{1} * nodes.nodes * nodes.gpus_per_node * seconds_of(window));
  return figures;
}

}  // namespace muster
