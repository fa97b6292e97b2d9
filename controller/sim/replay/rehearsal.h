// What a replay is given and what comes of it, whatever the policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "controller/sim/replay/trace_file.h"

namespace muster {

// Equal nodes. A job of at most one node's GPUs gets them on one node, a larger one whole nodes.
struct SimNodes {
  std::uint32_t nodes = 0;
  std::uint32_t gpus_per_node = 0;
  std::uint32_t nodes_of(std::uint32_t gpus) const {
    return (gpus + gpus_per_node - 1) / gpus_per_node;
  }
  std::uint32_t gpus_on_each(std::uint32_t gpus) const {
    return gpus < gpus_per_node ? gpus : gpus_per_node;
  }
};

struct Stretch {
  Instant from;
  Instant to;
};

// When a job of the trace ran, parallel to the jobs.
struct Run {
  Instant start;
  Instant end;
  std::vector<Stretch> pauses = {};  // When it was stopped in between.
};

struct ReplayFigures {
  std::uint64_t jobs = 0;
  // All the time before the end in which a job did not get on: before its start, while it was
  // stopped, and what being stopped cost it.
  double mean_wait_s = 0;
  double p95_wait_s = 0;
  double max_wait_s = 0;
  double mean_completion_s = 0;  // From submission to end.
  double p99_completion_s = 0;
  double wide_p95_wait_s = 0;  // Of jobs of 16 GPUs or more; 0 without any.
  double utilisation = 0;      // GPU time used within the window, of what there was.
  std::uint64_t stops = 0;     // How often jobs were stopped to go on later.
};

constexpr std::uint32_t kWideGpus = 16;

ReplayFigures figures_of(const std::vector<TraceJob>& jobs, const std::vector<Run>& runs,
                         const SimNodes& nodes, Duration window);

}  // namespace muster
