// What lets a job stand in line: dependencies, begin time, deadline. Checks of what people ask for,
// and letting through what has waited long enough. Internal to the core.
#pragma once

#include "controller/core/step.h"

namespace muster {

// Elements judged in one step, times their conditions: the next step goes on.
constexpr std::uint32_t kGateLooksPerStepMax = 20000;

// For a spec that was admitted; `self` is the job it changes, if any.
Result<void> check_gate(const Cluster& cluster, const Requester& who, const JobSpec& spec,
                        WallTime wall);
// Refuses what would make the job wait for itself, through others, if it waited for that and had
// that name (singleton goes by names).
struct GateWish {
  const Depends& depends;
  const std::string& name;
};
Result<void> check_circle(const Cluster& cluster, const Gates& gates, const Job& job,
                          const GateWish& wish);

// What became due stands in line, ends, or is seen to wait for ever. After every step.
void settle_gates(Step& step);
// Released elements that never ran wait again for what the job waits for.
void gate_again(Step& step, JobId job, std::vector<IndexRange> untouched);

}  // namespace muster
