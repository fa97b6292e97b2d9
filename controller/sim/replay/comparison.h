// Policies to compare with. They know how long every job will run, which no scheduler does; they
// live here and not in the controller.
#pragma once

#include <vector>

#include "controller/sim/replay/rehearsal.h"

namespace muster {

enum class ComparisonPolicy : std::uint8_t {
  // In the order of submission; the first that does not fit stops all behind it.
  kFifo,
  // EASY: fifo, but while the first waits, each of the next 150 starts if it will have ended by the
  // time that the first could start (its shadow time), on any node. A job that ends later does not
  // start, not even where it would leave the first one enough.
  kEasy,
  // The shortest first; what does not fit is passed over. Wide jobs may starve.
  kSjfOracle,
};

// Every job must fit on the empty nodes.
std::vector<Run> run_comparison(ComparisonPolicy policy, const std::vector<TraceJob>& jobs,
                                const SimNodes& nodes);

}  // namespace muster
