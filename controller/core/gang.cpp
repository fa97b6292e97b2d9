// Driving the members of attempts.
#include "controller/core/gang.h"

#include <algorithm>

#include "controller/core/decide/preempt.h"
#include "controller/core/verdict_of.h"

namespace muster {
namespace {

std::size_t position_of(const Attempt& attempt, NodeId node) {
  const auto& members = attempt.place->members;
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.node == node; });
  MUSTER_ASSERT(found != members.end());
  return static_cast<std::size_t>(found - members.begin());
}

AttemptLiveness& books_of(Step& step, const Attempt& attempt) {
  const auto [it, is_new] = step.liveness().attempts.try_emplace(attempt.key);
  if (is_new) {
    it->second.members.resize(attempt.place->members.size());
    it->second.prepare_deadline = step.now().at + step.cluster().config().limits.prepare_timeout;
    it->second.tombstone_deadline = step.now().at + kTombstoneWait;
  }
  return it->second;
}

bool is_connected(Step& step, NodeId node) {
  const NodeLiveness* live = step.liveness().find_node(node);
  return live != nullptr && live->connected;
}

bool is_prepared(AttemptPhase phase) {
  return phase == AttemptPhase::kPrepared || phase == AttemptPhase::kRunning;
}

Duration grace_of(Step& step, const AttemptKey& key) {
  const Job* job = step.cluster().find_job(key.job);
  const QueueConfig* queue =
      job == nullptr ? nullptr : step.cluster().find_queue(job->facts().queue());
  return queue == nullptr ? seconds(30) : queue->kill_wait;
}

std::string reason_of(const Cause& cause) {
  std::string text(name_of(cause.kind));
  if (cause.rank >= 0) text += ", rank " + std::to_string(cause.rank);
  if (!cause.node.empty()) text += " on " + cause.node;
  if (!cause.by.empty()) text += " by " + cause.by;
  return text;
}

void kill_stray(Step& step, const AttemptKey& key, NodeId node) {
  step.send(SendKill{key, node, "the controller no longer wants this attempt", seconds(0)});
}

// What a worker says is kept for long: in bounds.
ExitRecord clipped(ExitRecord record) {
  for (std::string* text : {&record.cause.by, &record.cause.evidence, &record.cause.node}) {
    if (text->size() > kEvidenceBytesMax) text->resize(kEvidenceBytesMax);
  }
  return record;
}

ExitRecord record_of(CauseKind kind, const Node* node, std::string evidence, Retry retry) {
  ExitRecord record;
  record.cause.kind = kind;
  record.cause.evidence = std::move(evidence);
  record.cause.node = node == nullptr ? "" : node->name;
  record.cause.retry = retry;
  return record;
}

void finish(Step& step, const Attempt& attempt) {
  const AttemptKey key = attempt.key;
  const Cause cause = final_cause(attempt);
  Event next = what_follows(step.cluster(), attempt, cause);
  step.emit(attempt_ended(attempt, cause, step.now().at));
  step.emit(std::move(next));
  step.liveness().attempts.erase(key);
}

// What a member's own end means for the rest of the gang.
void consider_end(Step& step, const AttemptKey& key, NodeId node, const ExitRecord& record) {
  const Attempt& attempt = *step.cluster().find_attempt(key);
  if (attempt.state != AttemptState::kStopping) {
    const bool completed = record.cause.kind == CauseKind::kCompleted && attempt.launched;
    const bool leads = attempt.place->members.front().node == node;
    const Job& job = *step.cluster().find_job(key.job);
    if (!completed && attempt.state == AttemptState::kRunning && attempt.all_ended()) {
      return finish(step, attempt);
    }
    if (!completed) {
      Cause cause = record.cause;
      if (cause.kind == CauseKind::kCompleted) {
        cause = record_of(CauseKind::kLaunchFailed, step.cluster().find_node(node),
                          "ended before it was launched", Retry::kElsewhere)
                    .cause;
      }
      stop_attempt(step, key, std::move(cause), false);
      return;
    }
    if (leads && job.facts().terms->first_node_only && !attempt.all_ended()) {
      stop_attempt(step, key, record.cause, false);
      return;
    }
  }
  if (attempt.all_ended()) finish(step, attempt);
}

void end_member(Step& step, const AttemptKey& key, const Node& node, ExitRecord record) {
  if (record.cause.node.empty() && record.cause.kind != CauseKind::kCompleted) {
    record.cause.node = node.name;
  }
  const NodeId id = node.id;
  step.emit(MemberEnded{key, id, record});
  consider_end(step, key, id, record);
}

void launch_if_ready(Step& step, const Attempt& attempt, const AttemptLiveness& books) {
  if (attempt.state != AttemptState::kPreparing) return;
  for (const MemberLiveness& member : books.members) {
    if (!is_prepared(member.phase)) return;
  }
  const Node* first = step.cluster().find_node(attempt.place->members.front().node);
  const AttemptKey key = attempt.key;
  step.emit(AttemptLaunched{key, first->inventory.address, books.members.front().ports});
  for (const Member& member : attempt.place->members) urge_member(step, key, member.node);
}

void order_member(Step& step, const Attempt& attempt, MemberLiveness& member, NodeId node) {
  switch (attempt.state) {
    case AttemptState::kPreparing:
      if (member.phase == AttemptPhase::kUnknown && !member.prepare_sent) {
        member.prepare_sent = true;
        step.send(SendPrepare{attempt.key, node});
      }
      break;
    case AttemptState::kRunning:
      if (member.phase == AttemptPhase::kPrepared && !member.go_sent) {
        member.go_sent = true;
        step.send(SendGo{attempt.key, node});
      }
      break;
    case AttemptState::kStopping:
      if (!member.kill_sent) {
        member.kill_sent = true;
        step.send(SendKill{attempt.key, node, reason_of(*attempt.stopping()),
                           grace_of(step, attempt.key)});
      }
      break;
    case AttemptState::kEnded:
      break;
  }
}

}  // namespace

void urge_member(Step& step, const AttemptKey& key, NodeId node) {
  const Attempt* attempt = step.cluster().find_attempt(key);
  if (attempt == nullptr || !is_connected(step, node)) return;
  if (attempt->members_ended().count(node) != 0) return;
  AttemptLiveness& books = books_of(step, *attempt);
  order_member(step, *attempt, books.members[position_of(*attempt, node)], node);
}

void open_attempt(Step& step, const AttemptKey& key) {
  const Attempt* attempt = step.cluster().find_attempt(key);
  if (attempt == nullptr) return;
  books_of(step, *attempt);
  for (const Member& member : attempt->place->members) urge_member(step, key, member.node);
}

void report_member(Step& step, const Node& node, const AttemptReport& report) {
  const Attempt* attempt = step.cluster().find_attempt(report.key);
  const bool wanted = attempt != nullptr && attempt->find_member(node.id) != nullptr &&
                      attempt->members_ended().count(node.id) == 0;
  if (!wanted) {
    if (report.phase == AttemptPhase::kEnded)
      step.send(SendForget{report.key, node.id});
    else if (report.phase != AttemptPhase::kUnknown)
      kill_stray(step, report.key, node.id);
    return;
  }
  if (report.phase == AttemptPhase::kUnknown) return miss_member(step, node, report.key);
  AttemptLiveness& books = books_of(step, *attempt);
  MemberLiveness& member = books.members[position_of(*attempt, node.id)];
  member.heard = true;
  member.phase = report.phase;
  // Readers see what its node says of it.
  step.brain().changes.jobs.insert(report.key.job);
  step.brain().changes.elements.insert(report.key.element_key());
  if (report.phase == AttemptPhase::kEnded) {
    const NodeId id = node.id;
    end_member(step, report.key, node,
               report.record ? clipped(*report.record)
                             : record_of(CauseKind::kShepherdFailed, &node,
                                         "ended without a record", Retry::kElsewhere));
    step.send(SendForget{report.key, id});
    return;
  }
  if (report.phase == AttemptPhase::kPrepared) {
    member.ports = report.ports;
    if (member.ports.size() > kPortsReportedMax) member.ports.resize(kPortsReportedMax);
  }
  launch_if_ready(step, *attempt, books);
  urge_member(step, report.key, node.id);
}

void miss_member(Step& step, const Node& node, const AttemptKey& key) {
  const Attempt* attempt = step.cluster().find_attempt(key);
  if (attempt == nullptr || attempt->find_member(node.id) == nullptr) return;
  if (attempt->members_ended().count(node.id) != 0) return;
  AttemptLiveness& books = books_of(step, *attempt);
  MemberLiveness& member = books.members[position_of(*attempt, node.id)];
  const bool was_there = is_prepared(member.phase) || attempt->launched;
  member = MemberLiveness{};
  if (attempt->state == AttemptState::kPreparing && !was_there)
    return urge_member(step, key, node.id);
  const CauseKind kind = attempt->launched ? CauseKind::kNodeFailed : CauseKind::kLaunchFailed;
  const std::string evidence = attempt->launched ? "its worker no longer knows the attempt"
                                                 : "its worker never had, or lost, the order";
  end_member(step, key, node, record_of(kind, &node, evidence, Retry::kElsewhere));
}

void lose_members(Step& step, const Node& node, const std::string& evidence) {
  const std::vector<AttemptKey> keys = step.cluster().attempts_on(node.id);
  for (const AttemptKey& key : keys) {
    const Attempt* attempt = step.cluster().find_attempt(key);
    if (attempt == nullptr || attempt->members_ended().count(node.id) != 0) continue;
    const CauseKind kind = attempt->launched ? CauseKind::kNodeFailed : CauseKind::kLaunchFailed;
    end_member(step, key, node, record_of(kind, &node, evidence, Retry::kElsewhere));
  }
}

void stop_attempt(Step& step, const AttemptKey& key, Cause cause, bool requeue) {
  step.emit(AttemptStopping{key, std::move(cause), requeue, step.now().at});
  const Attempt& attempt = *step.cluster().find_attempt(key);
  AttemptLiveness& books = books_of(step, attempt);
  books.tombstone_deadline = step.now().at + kTombstoneWait;
  if (attempt.all_ended()) return finish(step, attempt);
  for (const Member& member : attempt.place->members) urge_member(step, key, member.node);
}

void preempt_attempt(Step& step, const AttemptKey& key, ElementKey preemptor) {
  const Job& job = *step.cluster().find_job(key.job);
  const QueueConfig* queue = step.cluster().find_queue(job.facts().queue());
  const bool again = job.facts().terms->requeue && queue != nullptr &&
                     queue->preempt_mode == PreemptMode::kRequeue;
  Cause cause;
  cause.kind = CauseKind::kPreempted;
  cause.by = preemptor_text(preemptor, step.cluster().find_job(preemptor.job)->is_array());
  stop_attempt(step, key, std::move(cause), again);
}

void signal_attempt(Step& step, const AttemptKey& key, std::int32_t signal) {
  const Attempt* attempt = step.cluster().find_attempt(key);
  if (attempt == nullptr) return;
  for (const Member& member : attempt->place->members) {
    if (attempt->members_ended().count(member.node) == 0)
      step.send(SendSignal{key, member.node, signal});
  }
}

namespace {

// Without a launch no task can have run, so silence is proof enough: a late answer meets a kill.
void give_up_on_silent(Step& step, const AttemptKey& key, bool all) {
  const Attempt* attempt = step.cluster().find_attempt(key);
  std::vector<NodeId> silent;
  for (const Member& member : attempt->place->members) {
    if (attempt->members_ended().count(member.node) != 0) continue;
    if (all || !is_connected(step, member.node)) silent.push_back(member.node);
  }
  for (const NodeId id : silent) {
    const Node* node = step.cluster().find_node(id);
    if (step.cluster().find_attempt(key) == nullptr) return;
    end_member(step, key, *node,
               record_of(CauseKind::kLaunchFailed, node, "did not answer", Retry::kElsewhere));
  }
}

void fail_unprepared(Step& step, const Attempt& attempt, const AttemptLiveness& books) {
  for (std::size_t i = 0; i < books.members.size(); ++i) {
    if (is_prepared(books.members[i].phase)) continue;
    const Node* node = step.cluster().find_node(attempt.place->members[i].node);
    const std::string evidence =
        "not prepared within " + to_text(step.cluster().config().limits.prepare_timeout);
    stop_attempt(step, attempt.key,
                 record_of(CauseKind::kLaunchFailed, node, evidence, Retry::kElsewhere).cause,
                 false);
    return;
  }
}

// The shepherd keeps the limit that the attempt began with; this is for one that does not, and for
// a limit that was lowered since.
void stop_overrun(Step& step, const Attempt& attempt) {
  if (attempt.state != AttemptState::kRunning) return;
  const Duration limit = step.cluster().find_job(attempt.key.job)->facts().time_limit();
  const Duration grace = attempt.limit_lowered ? Duration{} : kOverrunGrace;
  if (step.now().at < attempt.launched_at + limit + grace) return;
  Cause cause;
  cause.kind = CauseKind::kTimedOut;
  cause.by = "time limit";
  cause.evidence =
      attempt.limit_lowered
          ? "its limit was lowered to " + to_text(limit) + " while it ran"
          : "ran over its limit of " + to_text(limit) + " and was not stopped by its node";
  stop_attempt(step, attempt.key, std::move(cause), false);
}

}  // namespace

void check_deadlines(Step& step) {
  if (step.liveness().braked) return;  // The silence is likely our own: nothing is given up.
  std::vector<AttemptKey> late;
  for (const auto& [key, books] : step.liveness().attempts) late.push_back(key);
  for (const AttemptKey& key : late) {
    if (step.is_full()) return;
    const auto found = step.liveness().attempts.find(key);
    const Attempt* attempt = step.cluster().find_attempt(key);
    if (attempt == nullptr || found == step.liveness().attempts.end()) continue;
    if (attempt->launched) {
      stop_overrun(step, *attempt);
      continue;
    }
    const AttemptLiveness& books = found->second;
    if (attempt->state == AttemptState::kPreparing) {
      if (step.now().at >= books.prepare_deadline) fail_unprepared(step, *attempt, books);
    } else {
      give_up_on_silent(step, key, step.now().at >= books.tombstone_deadline);
    }
  }
}

}  // namespace muster
