// The production engine on simulated nodes and a simulated clock. It is told what a live one is
// told: nodes that say hello, jobs that are submitted, tasks that are prepared, run and end.
#pragma once

#include <functional>
#include <vector>

#include "controller/core/config.h"
#include "controller/sim/replay/rehearsal.h"

namespace muster {

enum class ReplayLimits : std::uint8_t {
  kNone,  // The queue's maximum, far longer than anything runs: nobody said how long.
  kTrue,  // What the job will really run: as if its owner knew.
};

struct EngineRun {
  QueueConfig queue;  // All jobs go to it; its name, limits and retries are set here.
  ReplayLimits limits = ReplayLimits::kNone;
  Duration stop_cost;  // A job that is stopped goes on where it was and needs so much longer.
  std::function<void(std::size_t ended)> progress;  // Now and then; may be empty.
};

// A queue that learns run times: order = "shortest", predict = true.
QueueConfig learning_queue();
// One that stops who has had much for who has had little: order = "attained".
QueueConfig sharing_queue();

// Every job must fit on the empty nodes. The owners of the trace become users.
std::vector<Run> run_engine(const EngineRun& how, const std::vector<TraceJob>& jobs,
                            const SimNodes& nodes);

}  // namespace muster
