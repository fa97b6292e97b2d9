// Why an element does not stand in line yet: the jobs it waits for, and how they are.
#pragma once

#include <optional>

#include "controller/core/decide/gates.h"

namespace muster {

struct GateQuestion {
  const Cluster& cluster;
  const Gates& gates;
  const Job& job;
  Element element;
  Instant now;
};

// Fills the reason and the sentence.
void explain_gate(Explanation& why, const GateQuestion& asked);
// For a job that is not submitted yet: what it would wait for. Nothing: its turn.
std::optional<WaitReason> gate_reason(const Cluster& cluster, const Gates& gates,
                                      const JobSpec& spec, Instant now);

}  // namespace muster
