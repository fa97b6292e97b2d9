// The members of an attempt: what the cluster wants of them against what their workers report.
// Level-triggered: every function may be called again and again. Internal to the core.
#pragma once

#include <string>

#include "controller/core/step.h"

namespace muster {

constexpr std::size_t kEvidenceBytesMax = 1024;
constexpr std::size_t kPortsReportedMax = 65;
constexpr Duration kOverrunGrace =
    minutes(2);  // Over the time limit, before the controller steps in.
constexpr Duration kTombstoneWait = seconds(10);  // For the answer of a member that never launched.

// A worker said something of an attempt, which may be one that the cluster does not know.
void report_member(Step& step, const Node& node, const AttemptReport& report);
// The worker has said hello without naming an attempt that the cluster expects there.
void miss_member(Step& step, const Node& node, const AttemptKey& key);
// Proof that the node lost all that ran on it.
void lose_members(Step& step, const Node& node, const std::string& evidence);
// The attempt is to end. Kills go out now or at the next hello.
void stop_attempt(Step& step, const AttemptKey& key, Cause cause, bool requeue);
// Stopped to make room: again later, or over, as its queue says. A job that must not be repeated is
// over.
void preempt_attempt(Step& step, const AttemptKey& key, ElementKey preemptor);
void signal_attempt(Step& step, const AttemptKey& key, std::int32_t signal);
// Orders a newly begun attempt; after a restart, opens the books on a known one.
void open_attempt(Step& step, const AttemptKey& key);
// What is due to one member, if its worker can be reached.
void urge_member(Step& step, const AttemptKey& key, NodeId node);
// Deadlines of the attempts that are being prepared or were never launched.
void check_deadlines(Step& step);

}  // namespace muster
