// Nodes come, report, fall silent and go.
#include "controller/core/fleet.h"

#include <algorithm>

#include "base/types/text.h"
#include "controller/core/gang.h"

namespace muster {
namespace {

const Node* node_of(Step& step, const std::string& name) {
  const Node* node = step.cluster().find_node(name);
  if (node == nullptr) {
    step.refuse(
        fail(ErrorCode::kNotFound, "node " + escape_for_terminal(name) +
                                       " is not enrolled here: add it with gpuadmin node add"));
  }
  return node;
}

Result<void> check_inventory(const Inventory& inventory) {
  constexpr std::size_t kGpusPerNodeMax = 256;
  constexpr std::uint32_t kCpusMax = 1U << 16U;
  if (inventory.gpus.size() > kGpusPerNodeMax) return fail(ErrorCode::kLimit, "more than 256 GPUs");
  if (inventory.cpus > kCpusMax) return fail(ErrorCode::kLimit, "more than 65536 CPUs");
  std::set<std::string> uuids;
  for (const GpuFacts& gpu : inventory.gpus) {
    if (gpu.uuid.empty() || gpu.uuid.size() > kNameBytesMax) {
      return fail(ErrorCode::kInvalid, "a GPU without a usable UUID");
    }
    if (!uuids.insert(gpu.uuid).second)
      return fail(ErrorCode::kInvalid, "GPU " + gpu.uuid + " twice");
  }
  return {};
}

// New devices get the next free ids.
std::vector<DeviceId> devices_of(const Cluster& cluster, const Inventory& inventory) {
  std::vector<DeviceId> ids;
  std::uint32_t next = cluster.device_next().value;
  for (const GpuFacts& gpu : inventory.gpus) {
    const Device* known = cluster.find_device(gpu.uuid);
    ids.push_back(known != nullptr ? known->id : DeviceId{next++});
  }
  return ids;
}

void note_inventory(Step& step, const Node& node, const std::string& boot_id,
                    const Inventory& inventory) {
  if (node.boot_id == boot_id && node.inventory == inventory) return;
  step.emit(NodeReported{node.id, boot_id, inventory, devices_of(step.cluster(), inventory)});
}

void back_from_silence(Step& step, NodeId id) {
  const Node& node = *step.cluster().find_node(id);
  if (node.state != NodeState::kSuspect && node.state != NodeState::kDead) return;
  if (node.drained) {  // As it was drained, by whom and why.
    step.emit(NodeStateChanged{id, NodeState::kDrained, node.drain.reason, node.drain.by,
                               node.drain.deadline});
  } else {
    step.emit(NodeStateChanged{id, NodeState::kUp, "heard again", "controller", {}});
  }
}

void set_connected(Step& step, NodeId id, bool connected) {
  step.liveness().nodes[id].connected = connected;
  step.brain().board.ledger.set_connected(id, connected);
  step.brain().changes.nodes.insert(id);
  if (connected) step.want_pass();
}

// A node that was only silent is itself again; a new session of it begins with a hello.
void note_heard(Step& step, NodeId id) {
  NodeLiveness& live = step.liveness().nodes[id];
  live.heard = true;
  live.heard_at = step.now().at;
  if (!live.silent) return;
  live.silent = false;
  set_connected(step, id, true);
  back_from_silence(step, id);
  const std::vector<AttemptKey> keys = step.cluster().attempts_on(id);
  for (const AttemptKey& key : keys) urge_member(step, key, id);
}

// All that was asked of the worker before may be lost: what is due is sent again.
void forget_errands(Step& step, NodeId id) {
  for (const AttemptKey& key : step.cluster().attempts_on(id)) {
    const auto books = step.liveness().attempts.find(key);
    if (books == step.liveness().attempts.end()) continue;
    const auto& members = step.cluster().find_attempt(key)->place->members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].node == id) books->second.members[i] = MemberLiveness{};
    }
  }
}

Duration silence_of(Step& step, NodeId id) {
  const NodeLiveness* live = step.liveness().find_node(id);
  const Instant since = live != nullptr && live->heard ? live->heard_at : step.liveness().began_at;
  return step.now().at - since;
}

bool is_operator(const Requester& who) { return who.role != Role::kUser; }

Result<void> may_change(const Requester& who, NodeVerb verb) {
  const bool needs_admin = verb == NodeVerb::kRemove;
  if (needs_admin ? who.role == Role::kAdmin : is_operator(who)) return {};
  return fail(ErrorCode::kConflict, needs_admin ? "only an administrator may remove a node"
                                                : "only an operator may change nodes");
}

Result<void> check_drain(Step& step, const ChangeNodes& command) {
  if (command.verb != NodeVerb::kDrain) return {};
  if (command.reason.empty()) {
    return fail(ErrorCode::kInvalid,
                "drain: say why with --reason TEXT; it is shown to users and kept");
  }
  const WallTime now = step.now().wall;
  if (command.deadline == WallTime{} || command.deadline > now) return {};
  return fail(ErrorCode::kInvalid, "drain: the deadline " + to_rfc3339(command.deadline) +
                                       " lies in the past (it is " + to_rfc3339(now) + ")");
}

// The node's jobs had until its drain's deadline. Those that must not be repeated end.
void empty_node(Step& step, const Node& node) {
  const std::vector<AttemptKey> keys = step.cluster().attempts_on(node.id);
  for (const AttemptKey& key : keys) {
    const Attempt* attempt = step.cluster().find_attempt(key);
    if (attempt == nullptr || attempt->stopping()) continue;
    const bool may_repeat = step.cluster().find_job(key.job)->facts().terms->requeue;
    Cause cause;
    cause.kind = may_repeat ? CauseKind::kRequeued : CauseKind::kCancelled;
    cause.by = "the drain of node " + node.name;
    cause.evidence = node.drain.reason;
    cause.node = node.name;
    stop_attempt(step, key, std::move(cause), may_repeat);
  }
}

Result<void> check_removal(Step& step, const Node& node) {
  const std::vector<AttemptKey>& on = step.cluster().attempts_on(node.id);
  if (on.empty()) return {};
  return fail(ErrorCode::kConflict, "node " + node.name + " still has " +
                                        std::to_string(on.size()) +
                                        " attempts: drain it and wait, or confirm that it is dead");
}

void change_node(Step& step, const ChangeNodes& command, const Node& node) {
  const std::string by = name_of_requester(command.who);
  const NodeId id = node.id;
  switch (command.verb) {
    case NodeVerb::kDrain:
      step.emit(NodeStateChanged{id, NodeState::kDrained, command.reason, by, command.deadline});
      break;
    case NodeVerb::kResume: {
      step.emit(NodeStateChanged{id, NodeState::kUp, command.reason, by, {}});
      break;
    }
    case NodeVerb::kRemove:
      step.liveness().nodes.erase(id);
      step.brain().board.ledger.set_connected(id, false);
      step.emit(NodeRemoved{id, by});
      break;
    case NodeVerb::kConfirmDead:
      set_connected(step, id, false);
      step.emit(NodeStateChanged{id, NodeState::kDead, command.reason, by, {}});
      lose_members(step, *step.cluster().find_node(id), "confirmed dead by " + by);
      break;
  }
  step.want_pass();
}

}  // namespace

void take_hello(Step& step, const WorkerHello& command) {
  const Node* found = node_of(step, command.node);
  if (found == nullptr) return;
  const NodeId id = found->id;
  if (const Result<void> checked = check_inventory(command.inventory); !checked) {
    return step.refuse(fail(ErrorCode::kInvalid, "inventory: " + checked.error().message));
  }
  const bool rebooted = found->has_reported() && found->boot_id != command.boot_id;
  step.liveness().nodes[id].silent = false;
  note_heard(step, id);
  step.liveness().nodes[id].incarnation = command.incarnation;
  set_connected(step, id, true);
  forget_errands(step, id);
  note_inventory(step, *found, command.boot_id, command.inventory);
  back_from_silence(step, id);
  std::set<AttemptKey> listed;
  for (const AttemptReport& report : command.attempts) {
    listed.insert(report.key);
    report_member(step, *step.cluster().find_node(id), report);
  }
  if (rebooted) return lose_members(step, *step.cluster().find_node(id), "the node was rebooted");
  const std::vector<AttemptKey> expected = step.cluster().attempts_on(id);
  for (const AttemptKey& key : expected) {
    if (listed.count(key) == 0) miss_member(step, *step.cluster().find_node(id), key);
  }
}

void take_report(Step& step, const WorkerReport& command) {
  const Node* node = node_of(step, command.node);
  if (node == nullptr) return;
  const NodeId id = node->id;
  note_heard(step, id);
  for (const AttemptReport& report : command.attempts) {
    report_member(step, *step.cluster().find_node(id), report);
  }
}

void take_inventory(Step& step, const WorkerInventory& command) {
  const Node* node = node_of(step, command.node);
  if (node == nullptr) return;
  note_heard(step, node->id);
  if (const Result<void> checked = check_inventory(command.inventory); !checked) {
    return step.refuse(fail(ErrorCode::kInvalid, "inventory: " + checked.error().message));
  }
  if (node->has_reported()) note_inventory(step, *node, node->boot_id, command.inventory);
}

void take_heartbeat(Step& step, const WorkerHeard& command) {
  const Node* node = node_of(step, command.node);
  if (node == nullptr) return;
  note_heard(step, node->id);
}

void take_loss(Step& step, const WorkerLost& command) {
  const Node* node = step.cluster().find_node(command.node);
  if (node == nullptr) return;
  // Heard again without a hello, its session has survived and nothing that was said is lost: it was
  // only silent.
  NodeLiveness& live = step.liveness().nodes[node->id];
  live.silent = live.silent || live.connected;
  set_connected(step, node->id, false);
}

void change_nodes(Step& step, const ChangeNodes& command) {
  if (const Result<void> may = may_change(command.who, command.verb); !may) {
    return step.refuse(may.error());
  }
  if (const Result<void> drain = check_drain(step, command); !drain) {
    return step.refuse(drain.error());
  }
  if (command.nodes.empty()) return step.refuse(fail(ErrorCode::kInvalid, "no node was named"));
  for (const std::string& name : command.nodes) {
    const Node* node = node_of(step, name);
    if (node == nullptr) return;
    if (command.verb != NodeVerb::kRemove) continue;
    if (const Result<void> free = check_removal(step, *node); !free)
      return step.refuse(free.error());
  }
  for (const std::string& name : command.nodes) {
    if (const Node* node = step.cluster().find_node(name)) change_node(step, command, *node);
  }
}

void enrol_node(Step& step, const EnrolNode& command) {
  constexpr std::size_t kKeyBytes = 40;
  if (command.who.role != Role::kAdmin) {
    return step.refuse(fail(ErrorCode::kConflict, "only an administrator may enrol a node"));
  }
  if (const Result<void> checked = check_name(command.node); !checked) {
    return step.refuse(fail(ErrorCode::kInvalid, "node name: " + checked.error().message));
  }
  if (command.public_key.size() != kKeyBytes) {
    return step.refuse(fail(ErrorCode::kInvalid,
                            "node " + command.node + ": the key is not 40 characters of Z85"));
  }
  const Node* known = step.cluster().find_node(command.node);
  if (known != nullptr && known->public_key == command.public_key) return;
  const NodeId id = known != nullptr ? known->id : step.cluster().node_next();
  step.emit(NodeEnrolled{id, command.node, command.public_key, name_of_requester(command.who)});
}

void keep_drain_deadlines(Step& step) {
  std::vector<NodeId> due;
  for (const auto& [id, node] : step.cluster().nodes()) {
    const WallTime deadline = node.drain.deadline;
    if (deadline != WallTime{} && deadline <= step.now().wall) due.push_back(id);
  }
  for (const NodeId id : due) {
    if (!step.is_full()) empty_node(step, *step.cluster().find_node(id));
  }
}

void suspect_silent(Step& step) {
  const Duration limit = step.cluster().config().limits.suspect_after;
  std::vector<NodeId> fresh;
  std::size_t silent_lately = 0;
  for (const auto& [id, node] : step.cluster().nodes()) {
    if (!node.has_reported() || node.state == NodeState::kDead) continue;
    const Duration silence = silence_of(step, id);
    if (silence <= limit) continue;
    if (silence <= limit + kBrakeWindow) ++silent_lately;
    if (node.state != NodeState::kSuspect) fresh.push_back(id);
  }
  const std::size_t nodes = step.cluster().nodes().size();
  step.liveness().braked =
      silent_lately >= kBrakeNodesMin && silent_lately * 100 > nodes * kBrakePercent;
  for (const NodeId id : fresh) {
    NodeLiveness& live = step.liveness().nodes[id];
    if (live.connected) {
      live.silent = true;
      set_connected(step, id, false);
    }
    if (step.liveness().braked) continue;
    const std::string reason = "not heard for " + to_text(limit);
    step.emit(NodeStateChanged{id, NodeState::kSuspect, reason, "controller", {}});
  }
}

}  // namespace muster
