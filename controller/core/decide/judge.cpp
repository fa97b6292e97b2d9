// Whether what a job waits for has come.
#include <algorithm>

#include "controller/core/decide/gates.h"

namespace muster {
namespace {

Judged settled(bool holds) { return {holds ? GateState::kHolds : GateState::kNever, {}}; }

// When its last attempt began to run; its end, when it never ran.
Instant begun_at(const Job& job, Element element) {
  if (const EndedElement* ended = job.touched().find_ended(element))
    return ended->at - ended->charged;
  const Ending ending = *job.find_ending(element);
  const std::optional<AttemptSummary> last = job.last_attempt(element);
  return last ? ending.at - last->charged : ending.at;
}

// Nothing, while it does not run and has not ended.
std::optional<Instant> begun(const Cluster& cluster, const Job& job, Element element) {
  if (job.state_of(element) == ElementState::kEnded) return begun_at(job, element);
  const Attempt* attempt = cluster.find_attempt(ElementKey{job.facts().id, element});
  if (attempt == nullptr || !attempt->launched) return std::nullopt;
  return attempt->launched_at;
}

std::optional<Instant> all_begun(const Cluster& cluster, const Job& job, bool exact) {
  const std::uint32_t started = job.count(ElementState::kActive) + job.count(ElementState::kEnded);
  if (started != job.elements()) return std::nullopt;
  Instant last;
  const JobId id = job.facts().id;
  auto it = cluster.attempts().lower_bound(AttemptKey{id, {}, {}});
  for (; it != cluster.attempts().end() && it->first.job == id; ++it) {
    if (!it->second.launched) return std::nullopt;
    last = std::max(last, it->second.launched_at);
  }
  if (!exact) return last;
  for (const IndexRange& range : job.ranges_in(ElementState::kEnded)) {
    for (std::uint32_t i = range.first; i <= range.last; i += range.step)
      last = std::max(last, begun_at(job, Element{i}));
  }
  return last;
}

Judged judge_started(const Cluster& cluster, const Job& target, const Condition& condition,
                     Instant now) {
  const bool exact = condition.delay.us != 0;
  const std::optional<Instant> at = condition.element ? begun(cluster, target, *condition.element)
                                                      : all_begun(cluster, target, exact);
  if (!at) return {};
  if (!exact || *at + condition.delay <= now) return settled(true);
  return {GateState::kLater, *at + condition.delay};
}

// One element, which must complete, must not, or may end as it likes.
Judged judge_element(const Job& target, Element element, After kind) {
  if (!target.state_of(element)) return settled(false);
  const std::optional<Ending> ending = target.find_ending(element);
  if (!ending) return {};
  const bool completed = ending->cause.kind == CauseKind::kCompleted;
  if (kind == After::kAny) return settled(true);
  return settled(kind == After::kNotOk ? !completed : completed);
}

Judged judge_whole(const Job& target, After kind) {
  const std::uint32_t ended = target.count(ElementState::kEnded);
  const bool over = ended == target.elements();
  const bool failed = target.completed() != ended;
  if (kind == After::kOk && failed) return settled(false);
  if (!over) return {};
  return settled(kind != After::kNotOk || failed);
}

Judged all_of(Judged sum, Judged next) {
  if (sum.state == GateState::kNever || next.state == GateState::kNever) return settled(false);
  if (sum.state == GateState::kOpen || next.state == GateState::kOpen) return {};
  if (sum.state == GateState::kHolds) return next;
  if (next.state == GateState::kHolds) return sum;
  return sum.at < next.at ? next : sum;
}

Judged any_of(Judged sum, Judged next) {
  if (sum.state == GateState::kHolds || next.state == GateState::kHolds) return settled(true);
  if (sum.state == GateState::kNever) return next;
  if (next.state == GateState::kNever) return sum;
  if (sum.state == GateState::kOpen) return next;
  if (next.state == GateState::kOpen) return sum;
  return sum.at < next.at ? sum : next;
}

}  // namespace

Judged Gates::judge(const Cluster& cluster, const Job& job, const Condition& condition,
                    Element element, Instant now) const {
  if (condition.kind == After::kSingleton) {
    return is_first_of_name(cluster, job) ? settled(true) : Judged{};
  }
  const Job* target = cluster.find_job(condition.job);
  if (target == nullptr) return settled(true);  // See keeps().
  if (condition.kind == After::kStarted) return judge_started(cluster, *target, condition, now);
  if (condition.kind == After::kCorr) return judge_element(*target, element, After::kOk);
  if (condition.element) return judge_element(*target, *condition.element, condition.kind);
  return judge_whole(*target, condition.kind);
}

Judged Gates::judge(const Cluster& cluster, const Job& job, Element element, Instant now) const {
  const JobGate* gate = job.facts().gate.get();
  if (gate == nullptr || gate->depends.conditions.empty()) return settled(true);
  Judged sum = settled(!gate->depends.any);
  for (const Condition& condition : gate->depends.conditions) {
    const Judged next = judge(cluster, job, condition, element, now);
    sum = gate->depends.any ? any_of(sum, next) : all_of(sum, next);
    if (sum.state == GateState::kNever && !gate->depends.any) break;
    if (sum.state == GateState::kHolds && gate->depends.any) break;
  }
  return sum;
}

}  // namespace muster
