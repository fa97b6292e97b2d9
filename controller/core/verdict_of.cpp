// Judging an ended attempt.
#include "controller/core/verdict_of.h"

#include <algorithm>

namespace muster {
namespace {

bool is_order(CauseKind kind) {
  return kind == CauseKind::kCancelled || kind == CauseKind::kRequeued ||
         kind == CauseKind::kPreempted || kind == CauseKind::kCompleted;
}

int strength(CauseKind kind) {
  switch (kind) {
    case CauseKind::kGpuLost:
      return 8;
    case CauseKind::kOutOfMemory:
      return 7;
    case CauseKind::kNodeFailed:
      return 6;
    case CauseKind::kShepherdFailed:
      return 5;
    case CauseKind::kLaunchFailed:
      return 4;
    case CauseKind::kTimedOut:
      return 3;
    case CauseKind::kExited:
    case CauseKind::kSignalled:
      return 2;
    case CauseKind::kNeverPossible:
      return 1;
    case CauseKind::kCompleted:
    case CauseKind::kCancelled:
    case CauseKind::kPreempted:
    case CauseKind::kRequeued:
    case CauseKind::kDependency:
    case CauseKind::kDeadline:
      return 0;
  }
  return 0;
}

Duration backoff(std::uint32_t retries) {
  const std::int64_t factor = std::int64_t{1} << std::min<std::uint32_t>(retries, 16);
  return std::min(kBackoffMin * factor, kBackoffMax);
}

// Newest last; the oldest go first when there are too many.
std::vector<NodeId> avoid(std::vector<NodeId> avoided, const Node* node) {
  if (node == nullptr) return avoided;
  avoided.erase(std::remove(avoided.begin(), avoided.end(), node->id), avoided.end());
  avoided.push_back(node->id);
  if (avoided.size() > kNodesAvoidedMax) avoided.erase(avoided.begin());
  return avoided;
}

std::string sentence_of(const Cause& cause) {
  std::string text(name_of(cause.kind));
  if (!cause.node.empty()) text += " on " + cause.node;
  if (!cause.evidence.empty()) text += ": " + cause.evidence;
  return text;
}

}  // namespace

Cause final_cause(const Attempt& attempt) {
  if (attempt.stopping() && (is_order(attempt.stopping()->kind) || attempt.requeue))
    return *attempt.stopping();
  const Cause* strongest = attempt.stopping() ? &*attempt.stopping() : nullptr;
  for (const Member& member : attempt.place->members) {
    const auto ended = attempt.members_ended().find(member.node);
    if (ended == attempt.members_ended().end()) continue;
    const Cause& cause = ended->second.cause;
    if (strongest == nullptr || strength(cause.kind) > strength(strongest->kind))
      strongest = &cause;
  }
  MUSTER_ASSERT(strongest != nullptr);
  return *strongest;
}

AttemptEnded attempt_ended(const Attempt& attempt, const Cause& cause, Instant now) {
  AttemptEnded event;
  event.key = attempt.key;
  event.cause = cause;
  if (!attempt.launched || cause.kind == CauseKind::kLaunchFailed) return event;
  const std::int64_t ms = (now - attempt.launched_at).ms();
  event.charged = milliseconds(ms);
  for (const Member& member : attempt.place->members) {
    event.cpu_ms += static_cast<std::uint64_t>(ms) * member.cpus;
    for (const Grant& grant : member.grants) {
      event.gpu_milli_ms += static_cast<std::uint64_t>(ms) * grant.milli;
    }
  }
  return event;
}

Event what_follows(const Cluster& cluster, const Attempt& attempt, const Cause& cause) {
  const Job& job = *cluster.find_job(attempt.key.job);
  const ElementRecord& record = *job.find_record(attempt.key.element);
  ElementRequeued again{attempt.key.job, attempt.key.element, {}, {}, false, ""};
  if (attempt.requeue) {
    again.reason = sentence_of(cause) + (cause.by.empty() ? "" : " by " + cause.by);
    return again;
  }
  // What never launched costs the user nothing to repeat, whatever was asked for.
  const bool may_repeat = job.facts().terms->requeue || !attempt.launched;
  if (cause.retry == Retry::kNo || !may_repeat) {
    const std::uint32_t element = attempt.key.element.value;
    return ElementsEnded{attempt.key.job, {{element, element, 1}}, cause};
  }
  const QueueConfig* queue = cluster.find_queue(job.facts().queue());
  const std::uint32_t retries_max = queue == nullptr ? 0 : queue->retries_max;
  again.nodes_avoided = record.nodes_avoided;
  if (cause.retry == Retry::kElsewhere) {
    again.nodes_avoided = avoid(again.nodes_avoided, cluster.find_node(cause.node));
  }
  again.not_before = backoff(record.retries);
  again.hold = record.retries >= retries_max;
  again.reason = sentence_of(cause);
  if (again.hold) {
    again.reason =
        "held after " + std::to_string(record.retries + 1) + " failed attempts: " + again.reason;
  }
  return again;
}

}  // namespace muster
