// Checking and opening gates.
#include "controller/core/gate.h"

#include <algorithm>

namespace muster {
namespace {

constexpr WallTime kWallMax{253402300799LL * 1000000};  // The year 9999.
constexpr std::uint64_t kCorrLooksMax = 4000000;
constexpr std::size_t kCircleJobsMax = 100000;

Error invalid(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

// Whether every index of `ours` is one of `theirs`.
bool is_part_of(const ArraySpec& ours, const ArraySpec& theirs) {
  if (ours.ranges == theirs.ranges) return true;
  if (std::uint64_t{elements_total(ours)} * theirs.ranges.size() > kCorrLooksMax) return false;
  for (const IndexRange& range : ours.ranges) {
    for (std::uint32_t i = range.first; i <= range.last; i += range.step) {
      if (!ordinal_of(theirs, Element{i})) return false;
    }
  }
  return true;
}

Result<void> check_target(const Cluster& cluster, const Requester& who, const JobSpec& spec,
                          const Condition& condition) {
  const std::string what = "--dependency " + to_text(condition) + ": ";
  const std::string id = std::to_string(condition.job.value);
  const Job* target = cluster.find_job(condition.job);
  if (target == nullptr) {
    const std::optional<CauseKind> end = cluster.forgotten_end(condition.job);
    const std::string why = end ? "job " + id + " is over (" + std::string(name_of(*end)) +
                                      ") and no longer in memory: leave the condition out, or see "
                                      "gpuacct " +
                                      id
                                : "there is no job " + id;
    return fail(ErrorCode::kNotFound, what + why);
  }
  if (target->facts().uid() != who.uid && who.role == Role::kUser) {
    return fail(ErrorCode::kConflict, what + "job " + id + " belongs to " + target->facts().user() +
                                          ": only operators may wait for jobs of others");
  }
  if (condition.element && !target->state_of(*condition.element)) {
    return fail(ErrorCode::kNotFound,
                what + "job " + id + " has no element " + std::to_string(condition.element->value));
  }
  if (condition.kind != After::kCorr) return {};
  if (spec.array.ranges.empty() || !target->is_array())
    return invalid(what + "both must be arrays; use afterok for a plain job");
  if (!is_part_of(spec.array, target->facts().terms->array))
    return invalid(what + "job " + id + " does not have all the elements of this array");
  return {};
}

Result<void> check_condition(const Condition& condition) {
  const bool single = condition.kind == After::kSingleton;
  if (single != (condition.job.value == 0))
    return invalid("--dependency: a condition without its job");
  const bool odd = (single || condition.kind == After::kCorr) && condition.element.has_value();
  const bool delayed = condition.delay.us != 0 && condition.kind != After::kStarted;
  if (odd || delayed || condition.delay.us < 0 || condition.delay > kConditionDelayMax)
    return invalid("--dependency " + to_text(condition) + ": not a condition");
  return {};
}

Result<void> check_times(const JobSpec& spec, WallTime wall) {
  if (spec.begin.us < 0 || spec.begin > kWallMax) return invalid("--begin: not a time");
  if (spec.deadline.us < 0 || spec.deadline > kWallMax) return invalid("--deadline: not a time");
  if (spec.deadline.us == 0) return {};
  if (spec.deadline <= wall)
    return invalid("--deadline: " + to_rfc3339(spec.deadline) + " lies in the past");
  const WallTime start = std::max(wall, spec.begin);
  if (start.us <= spec.deadline.us - spec.time_limit.us) return {};
  return invalid("--deadline: with a time limit of " + to_text(spec.time_limit) +
                 " it could not end by " + to_rfc3339(spec.deadline) +
                 (spec.begin > wall ? " when it begins at " + to_rfc3339(spec.begin) : "") +
                 "; ask for less --time");
}

// Appends an index to ranges that rise.
void append(std::vector<IndexRange>& ranges, Element element) {
  if (!ranges.empty() && ranges.back().last + 1 == element.value) {
    ranges.back().last = element.value;
    return;
  }
  ranges.push_back({element.value, element.value, 1});
}

Cause cause_of_never(const Cluster& cluster, const Gates& gates, const Job& job, Element element,
                     Instant now) {
  Cause cause;
  cause.kind = CauseKind::kDependency;
  cause.by = "dependency";
  for (const Condition& condition : job.facts().gate->depends.conditions) {
    if (gates.judge(cluster, job, condition, element, now).state != GateState::kNever) continue;
    cause.evidence = to_text(condition) + " can never hold any more";
    break;
  }
  return cause;
}

class Settling {
 public:
  Settling(Step& step, JobId id) : step_(step), gates_(step.brain().board.gates), id_(id) {}

  // Answers how much was looked at.
  std::uint32_t run(GateDue due, std::uint32_t looks_max) {
    const Job* job = step_.cluster().find_job(id_);
    if (job == nullptr || job->count(ElementState::kWaiting) == 0) return 1;
    const auto& conditions = job->facts().gate->depends.conditions;
    cost_ = static_cast<std::uint32_t>(conditions.size()) + 1;
    const bool by_element = std::any_of(conditions.begin(), conditions.end(),
                                        [](const auto& one) { return one.kind == After::kCorr; });
    if (by_element)
      look_at_elements(*job, std::move(due), std::max(looks_max / cost_, 1U));
    else
      look_at_job(*job);
    act();
    return looks_ * cost_;
  }

 private:
  void look_at_job(const Job& job) {
    const Element first = *job.first_in(ElementState::kWaiting);
    const GateState state = look(job, first);
    if (gates_.set_state(id_, state)) step_.brain().changes.jobs.insert(id_);
    std::vector<IndexRange> all = job.ranges_in(ElementState::kWaiting);
    if (!ready_.empty())
      ready_ = std::move(all);
    else if (!never_.empty())
      never_ = std::move(all);
  }

  void look_at_elements(const Job& job, GateDue due, std::uint32_t most) {
    for (const Element element : due.elements) {
      if (job.state_of(element) == ElementState::kWaiting) look(job, element);
    }
    if (!due.whole) return;
    std::optional<Element> element = job.first_in(ElementState::kWaiting, due.from);
    for (; element; element = job.first_in(ElementState::kWaiting, Element{element->value + 1})) {
      if (due.elements.count(*element) != 0) continue;
      if (looks_ >= most) {
        GateDue& rest = gates_.due()[id_];
        rest.whole = true;
        rest.from = *element;
        break;
      }
      look(job, *element);
    }
  }

  GateState look(const Job& job, Element element) {
    ++looks_;
    const Now now = step_.now();
    const Judged judged = gates_.judge(step_.cluster(), job, element, now.at);
    if (judged.state == GateState::kLater) gates_.wake_at(id_, judged.at);
    if (judged.state == GateState::kNever) append(never_, element);
    if (judged.state == GateState::kHolds && job.facts().gate->begin <= now.wall)
      append(ready_, element);
    return judged.state;
  }

  void act() {
    if (!ready_.empty()) {
      step_.emit(ElementsReady{id_, std::move(ready_)});
      step_.want_pass();
    }
    const Job& job = *step_.cluster().find_job(id_);
    if (never_.empty() || !job.facts().gate->depends.kill_invalid) return;
    Cause cause =
        cause_of_never(step_.cluster(), gates_, job, Element{never_.front().first}, step_.now().at);
    step_.emit(ElementsEnded{id_, std::move(never_), std::move(cause)});
  }

  Step& step_;
  Gates& gates_;
  JobId id_;
  std::uint32_t cost_ = 1;
  std::uint32_t looks_ = 0;
  std::vector<IndexRange> ready_;
  std::vector<IndexRange> never_;
};

void end_overdue(Step& step, JobId id) {
  const Job* job = step.cluster().find_job(id);
  if (job == nullptr) return;
  std::vector<IndexRange> ranges = job->ranges_in(ElementState::kPending);
  for (const ElementState state : {ElementState::kHeld, ElementState::kWaiting}) {
    for (const IndexRange& range : job->ranges_in(state)) ranges.push_back(range);
  }
  if (ranges.empty()) return;
  Cause cause;
  cause.kind = CauseKind::kDeadline;
  cause.by = "deadline";
  cause.evidence = "with its time limit of " + to_text(job->facts().time_limit()) +
                   " it could not have ended by " + to_rfc3339(job->facts().gate->deadline);
  step.emit(ElementsEnded{id, std::move(ranges), std::move(cause)});
}

}  // namespace

Result<void> check_gate(const Cluster& cluster, const Requester& who, const JobSpec& spec,
                        WallTime wall) {
  if (const Result<void> times = check_times(spec, wall); !times) return times;
  if (!spec.depends) return {};
  const std::vector<Condition>& conditions = spec.depends->conditions;
  if (conditions.size() > kConditionsMax) {
    return fail(ErrorCode::kLimit, "--dependency: " + std::to_string(conditions.size()) +
                                       " conditions are more than " +
                                       std::to_string(kConditionsMax));
  }
  for (const Condition& condition : conditions) {
    if (const Result<void> sane = check_condition(condition); !sane) return sane;
    if (condition.kind == After::kSingleton) continue;
    if (const Result<void> known = check_target(cluster, who, spec, condition); !known)
      return known;
  }
  return {};
}

Result<void> check_circle(const Cluster& cluster, const Gates& gates, const Job& job,
                          const GateWish& wish) {
  const JobId self = job.facts().id;
  std::set<JobId> ends = gates.singletons_after(job.facts().uid(), wish.name, self);
  ends.insert(self);
  std::set<JobId> seen;
  std::vector<JobId> todo;
  const auto follow = [&](const Job& from, const Depends& what, const std::string& name) {
    for (const Condition& condition : what.conditions) {
      std::vector<JobId> next{condition.job};
      if (condition.kind == After::kSingleton) next = gates.namesakes_before(cluster, from, name);
      for (const JobId id : next) {
        if (seen.insert(id).second) todo.push_back(id);
      }
    }
  };
  follow(job, wish.depends, wish.name);
  while (!todo.empty()) {
    const JobId id = todo.back();
    todo.pop_back();
    if (ends.count(id) != 0) {
      return fail(ErrorCode::kConflict, "job " + std::to_string(self.value) +
                                            " would wait for itself: what it shall wait for waits "
                                            "for it; see gpuqueue --why");
    }
    if (seen.size() > kCircleJobsMax)
      return fail(ErrorCode::kLimit, "dependency: more jobs hang together than can be checked");
    const Job* next = cluster.find_job(id);
    const bool stands = next != nullptr && (next->count(ElementState::kWaiting) != 0 ||
                                            next->count(ElementState::kHeld) != 0);
    if (stands && next->facts().gate != nullptr)
      follow(*next, next->facts().gate->depends, next->facts().name);
  }
  return {};
}

void settle_gates(Step& step) {
  Gates& gates = step.brain().board.gates;
  while (!gates.overdue().empty() && !step.is_full()) {
    const JobId id = *gates.overdue().begin();
    gates.overdue().erase(gates.overdue().begin());
    end_overdue(step, id);
  }
  std::uint32_t looks = 0;
  while (!gates.due().empty() && !step.is_full() && looks < kGateLooksPerStepMax) {
    auto node = gates.due().extract(gates.due().begin());
    looks += Settling(step, node.key()).run(std::move(node.mapped()), kGateLooksPerStepMax - looks);
  }
}

void gate_again(Step& step, JobId id, std::vector<IndexRange> untouched) {
  const Job& job = *step.cluster().find_job(id);
  if (untouched.empty() || job.facts().gate == nullptr || !job.facts().gate->waits()) return;
  GateChanged event;
  event.job = id;
  event.elements = std::move(untouched);
  step.emit(std::move(event));
}

}  // namespace muster
