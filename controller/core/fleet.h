// The nodes: what their workers say, what administrators say of them, and what silence means.
// Internal to the core.
#pragma once

#include "controller/core/step.h"

namespace muster {

constexpr std::size_t kBrakeNodesMin = 3;  // Fewer silent nodes are ordinary failures.
constexpr std::size_t kBrakePercent = 20;  // More than this at once is likely our own network.
constexpr Duration kBrakeWindow = seconds(60);

void take_hello(Step& step, const WorkerHello& command);
void take_report(Step& step, const WorkerReport& command);
void take_inventory(Step& step, const WorkerInventory& command);
void take_heartbeat(Step& step, const WorkerHeard& command);
void take_loss(Step& step, const WorkerLost& command);
void change_nodes(Step& step, const ChangeNodes& command);
void enrol_node(Step& step, const EnrolNode& command);
void suspect_silent(Step& step);
// What still runs on nodes whose drain's deadline has passed is requeued.
void keep_drain_deadlines(Step& step);

}  // namespace muster
