// Cancel, hold, release, requeue, top, set.
#include "controller/core/verbs.h"

#include <algorithm>

#include "base/types/text.h"
#include "controller/core/decide/admit.h"
#include "controller/core/decide/known.h"
#include "controller/core/decide/reserved.h"
#include "controller/core/decide/submit_limits.h"
#include "controller/core/gang.h"
#include "controller/core/gate.h"
#include "controller/core/select.h"

namespace muster {
namespace {

constexpr std::int32_t kSignalMax = 64;
constexpr std::size_t kTopJobsMax = 20000;

// Why nothing of the target is in the state a verb needs.
Error not_in(const Job& job, const Target& target, std::string_view needed) {
  const std::string name = "job " + name_of_target(job, target);
  const auto any = [&](ElementState state) {
    return !ranges_of_target(job, target, state).empty();
  };
  std::string is = "has ended";
  if (any(ElementState::kActive))
    is = "is running";
  else if (any(ElementState::kPending))
    is = "is pending";
  else if (any(ElementState::kWaiting))
    is = "waits for others, or for its time";
  else if (any(ElementState::kHeld))
    is = "is already held";
  return fail(ErrorCode::kConflict, name + " " + is + ": only " + std::string(needed));
}

std::vector<AttemptKey> attempts_of(const Cluster& cluster, const Job& job, const Target& target) {
  std::vector<AttemptKey> keys;
  const JobId id = job.facts().id;
  auto it = cluster.attempts().lower_bound(AttemptKey{id, {}, {}});
  for (; it != cluster.attempts().end() && it->first.job == id; ++it) {
    if (!target.element || it->first.element == *target.element) keys.push_back(it->first);
  }
  return keys;
}

Cause cause_by(CauseKind kind, const Requester& who) {
  Cause cause;
  cause.kind = kind;
  cause.by = name_of_requester(who);
  return cause;
}

// A second word of a person overrides the first, and what the machine had planned.
void stop_by_person(Step& step, const AttemptKey& key, const Cause& cause, bool requeue) {
  const Attempt& attempt = *step.cluster().find_attempt(key);
  if (attempt.stopping() && attempt.stopping()->kind == cause.kind && attempt.requeue == requeue)
    return;
  stop_attempt(step, key, cause, requeue);
}

Result<void> cancel(Step& step, const CancelJobs& command, const Job& job, const Target& target) {
  const std::vector<AttemptKey> running = attempts_of(step.cluster(), job, target);
  std::vector<IndexRange> waiting = ranges_of_target(job, target, ElementState::kPending);
  for (const ElementState state : {ElementState::kHeld, ElementState::kWaiting}) {
    for (const IndexRange& more : ranges_of_target(job, target, state)) waiting.push_back(more);
  }
  if (running.empty() && waiting.empty()) {
    return fail(ErrorCode::kConflict, "job " + name_of_target(job, target) + " has already ended");
  }
  const Cause cause = cause_by(CauseKind::kCancelled, command.who);
  if (!waiting.empty()) step.emit(ElementsEnded{target.job, std::move(waiting), cause});
  for (const AttemptKey& key : running) stop_by_person(step, key, cause, false);
  return {};
}

Result<void> send_signal(Step& step, const CancelJobs& command, const Job& job,
                         const Target& target) {
  std::size_t sent = 0;
  for (const AttemptKey& key : attempts_of(step.cluster(), job, target)) {
    if (step.cluster().find_attempt(key)->state != AttemptState::kRunning) continue;
    signal_attempt(step, key, command.signal);
    ++sent;
  }
  if (sent != 0) return {};
  return fail(ErrorCode::kConflict,
              "job " + name_of_target(job, target) + " is not running: no signal sent");
}

// Moves the job before all other waiting jobs of its owner that compete with it, which keep their
// order: each takes the position of the next one, so nobody else's turn changes.
Result<void> move_to_top(Step& step, const Job& job, const std::string& by) {
  std::vector<std::pair<std::int64_t, JobId>> own;
  for (const auto& [id, other] : step.cluster().jobs()) {
    const JobFacts& facts = other.facts();
    const bool competes = facts.uid() == job.facts().uid() &&
                          facts.queue() == job.facts().queue() &&
                          facts.priority() == job.facts().priority();
    const bool waits = other.count(ElementState::kPending) + other.count(ElementState::kHeld) != 0;
    if (competes && waits && position_of(other) <= position_of(job))
      own.emplace_back(position_of(other), id);
  }
  if (own.size() > kTopJobsMax) {
    return fail(ErrorCode::kLimit,
                "top: more than " + std::to_string(kTopJobsMax) +
                    " of your jobs would have to give way; hold or lower them instead");
  }
  std::sort(own.begin(), own.end());
  MUSTER_ASSERT(!own.empty() && own.back().second == job.facts().id);
  std::vector<JobChanged> changes;
  for (std::size_t i = 0; i < own.size() && own.size() > 1; ++i) {
    JobChanged change;
    change.job = own[i].second;
    change.top = -own[(i + 1) % own.size()].first;
    change.by = by;
    changes.push_back(std::move(change));
  }
  for (JobChanged& change : changes) step.emit(std::move(change));
  return {};
}

Result<void> check_limit_change(const Job& job, const SetJobs& command, const QueueConfig& queue,
                                const std::string& name) {
  const Duration now = job.facts().time_limit();
  const Duration limit = command.time_limit.value_or(now);
  if (command.who.role == Role::kUser && limit > now) {
    return fail(ErrorCode::kConflict, name + ": users may only lower the time limit (it is " +
                                          to_text(now) + "); ask an operator");
  }
  return check_time(queue, limit);
}

// A job may stay in a queue that was closed, but not enter it.
Result<const QueueConfig*> queue_for_change(const Cluster& cluster, const JobFacts& facts,
                                            const SetJobs& command) {
  if (command.queue) return queue_must_be_open(cluster, *command.queue);
  const QueueConfig* queue = cluster.find_queue(facts.queue());
  if (queue != nullptr) return queue;
  return fail(ErrorCode::kConflict,
              "queue " + facts.queue() + " no longer exists; set queue= as well");
}

// What runs keeps what it was started with.
Result<void> check_running(const JobFacts& facts, const SetJobs& command, const std::string& name) {
  if (command.queue || command.account || command.qos || command.reservation) {
    return fail(ErrorCode::kConflict,
                name +
                    " is running: its queue, account, QOS and reservation are fixed; requeue it "
                    "first");
  }
  if (command.time_limit && *command.time_limit > facts.time_limit()) {
    return fail(ErrorCode::kConflict,
                name + " is running: its time can only be shortened now (it is " +
                    to_text(facts.time_limit()) +
                    "), because its nodes keep the limit it was started with");
  }
  return {};
}

Result<void> check_new_limits(const Cluster& cluster, LimitBook& limits, const JobFacts& facts,
                              const SetJobs& command) {
  JobTerms terms = *facts.terms;
  if (command.queue) terms.queue = *command.queue;
  if (command.account) terms.account = *command.account;
  if (command.qos) terms.qos = *command.qos;
  if (command.time_limit) terms.time_limit = *command.time_limit;
  const bool asks_for_more =
      command.queue || command.account || command.qos || terms.time_limit > facts.time_limit();
  if (!asks_for_more) return {};
  return SubmitLimits(cluster, limits).check(facts.uid(), facts.user(), terms, &facts);
}

Result<void> check_move(const Cluster& cluster, Board& board, const Job& job,
                        const SetJobs& command) {
  const JobFacts& facts = job.facts();
  const std::string name = "job " + std::to_string(facts.id.value);
  const Result<const QueueConfig*> queue = queue_for_change(cluster, facts, command);
  if (!queue) return queue.error();
  const std::string account = command.account.value_or(facts.account());
  if (const Result<void> checked = check_account(cluster, **queue, account, facts.user()); !checked)
    return checked;
  const Result<void> qos = check_qos(cluster, command.qos.value_or(facts.qos()), account);
  if (!qos) return qos;
  if (const Result<void> checked = check_limit_change(job, command, **queue, name); !checked)
    return checked;
  if (const Result<void> checked = check_new_limits(cluster, board.limits, facts, command);
      !checked)
    return checked;
  JobSpec spec = facts.spec();
  spec.account = account;
  spec.time_limit = command.time_limit.value_or(spec.time_limit);
  spec.reservation = command.reservation.value_or(spec.reservation);
  if (const Result<void> checked = check_reservation(cluster, facts.user(), terms_of(spec));
      !checked)
    return checked;
  if (!command.queue && !command.reservation) return {};
  if (const Result<void> checked =
          check_possible(cluster, board.ledger, **queue, spec.groups, spec.reservation);
      !checked)
    return checked;
  return check_topology(cluster, board.ledger, **queue, spec);
}

Result<void> check_change(const Cluster& cluster, Board& board, const Job& job,
                          const SetJobs& command) {
  const JobFacts& facts = job.facts();
  const std::string name = "job " + std::to_string(facts.id.value);
  if (job.is_ended()) return fail(ErrorCode::kConflict, name + " has ended");
  if (job.count(ElementState::kActive) != 0) {
    if (const Result<void> checked = check_running(facts, command, name); !checked) return checked;
  }
  if (command.priority && command.who.role == Role::kUser && *command.priority > facts.priority()) {
    return fail(ErrorCode::kConflict, name + ": users may only lower the priority (it is " +
                                          std::to_string(facts.priority()) + "); ask an operator");
  }
  if (command.nice) {
    const Result<void> checked = check_nice(command.who, *command.nice, facts.nice());
    if (!checked) return checked;
  }
  if (command.name) {
    if (const Result<void> checked = check_job_name(*command.name); !checked) return checked;
  }
  const bool moves =
      command.time_limit || command.queue || command.account || command.qos || command.reservation;
  return moves ? check_move(cluster, board, job, command) : Result<void>();
}

// The gate and the throttle, as they would be.
Result<void> check_gate_change(const Step& step, const Job& job, const SetJobs& command) {
  const std::string name = "job " + std::to_string(job.facts().id.value);
  if (command.throttle && !job.is_array())
    return fail(ErrorCode::kInvalid, name + " is no array: throttle= is for arrays");
  if (command.throttle && *command.throttle > kArrayElementsMax)
    return fail(ErrorCode::kInvalid, name + ": throttle= is at most 1000000; 0 takes it away");
  if (!command.depends && !command.begin && !command.deadline && !command.time_limit) return {};
  if ((command.depends || command.begin) && job.untouched_in(ElementState::kPending).empty() &&
      job.count(ElementState::kWaiting) + job.count(ElementState::kHeld) == 0) {
    return fail(ErrorCode::kConflict,
                name + " has started: only what waits can wait for something else");
  }
  JobSpec spec = job.facts().spec();
  if (command.time_limit) spec.time_limit = *command.time_limit;
  if (command.begin) spec.begin = *command.begin;
  if (command.deadline) spec.deadline = *command.deadline;
  spec.depends = command.depends;
  // What it waited for before was checked before.
  if (const Result<void> gate = check_gate(step.cluster(), command.who, spec, step.now().wall);
      !gate)
    return fail(gate.error().code, name + ": " + gate.error().message);
  return {};
}

// Waiting goes in no circle, whatever is changed.
Result<void> check_order(const Step& step, const Job& job, const SetJobs& command) {
  if (!command.depends && !command.name) return {};
  const std::shared_ptr<const JobGate>& gate = job.facts().gate;
  const Depends depends = command.depends ? *command.depends : gate ? gate->depends : Depends{};
  const std::string name = command.name.value_or(job.facts().name);
  return check_circle(step.cluster(), step.gates(), job, {depends, name});
}

void emit_gate_change(Step& step, const Job& job, const SetJobs& command) {
  const JobId id = job.facts().id;
  if (command.depends || command.begin || command.deadline) {
    GateChanged event{
        id, command.depends, command.begin, command.deadline, {}, name_of_requester(command.who)};
    if (event.depends && job.facts().gate != nullptr)
      event.depends->kill_invalid = job.facts().gate->depends.kill_invalid;
    if (command.depends || command.begin) event.elements = job.untouched_in(ElementState::kPending);
    step.emit(std::move(event));
    step.want_pass();
  }
  if (!command.throttle) return;
  step.emit(ArrayThrottled{id, *command.throttle, name_of_requester(command.who)});
  step.want_pass();
}

bool changes_terms(const SetJobs& command) {
  return command.time_limit || command.queue || command.account || command.priority ||
         command.name || command.qos || command.nice || command.reservation;
}

}  // namespace

std::string name_of_requester(const Requester& who) {
  return "user " + who.user + " (uid " + std::to_string(who.uid.value) + ")";
}

void cancel_jobs(Step& step, const CancelJobs& command) {
  if (command.signal < 0 || command.signal > kSignalMax) {
    return step.refuse(
        fail(ErrorCode::kInvalid, "cancel: there is no signal " + std::to_string(command.signal)));
  }
  for_each_target(step, command.who, command.which, "cancel",
                  [&](const Job& job, const Target& target) {
                    return command.signal != 0 ? send_signal(step, command, job, target)
                                               : cancel(step, command, job, target);
                  });
}

void hold_jobs(Step& step, const HoldJobs& command) {
  for_each_target(
      step, command.who, command.which, "hold", [&](const Job& job, const Target& target) {
        std::vector<IndexRange> ranges = ranges_of_target(job, target, ElementState::kPending);
        for (const IndexRange& more : ranges_of_target(job, target, ElementState::kWaiting))
          ranges.push_back(more);
        const bool by_operator = command.who.role != Role::kUser;
        // An operator's word also makes a hold of the user's own the operator's.
        const bool strengthens = by_operator && !job.is_held_by_operator() &&
                                 !ranges_of_target(job, target, ElementState::kHeld).empty();
        if (ranges.empty() && !strengthens) {
          return Result<void>(not_in(job, target, "what is pending can be held"));
        }
        step.emit(ElementsHeld{target.job, std::move(ranges), name_of_requester(command.who),
                               by_operator});
        return Result<void>();
      });
}

void release_jobs(Step& step, const ReleaseJobs& command) {
  for_each_target(
      step, command.who, command.which, "release", [&](const Job& job, const Target& target) {
        std::vector<IndexRange> ranges = ranges_of_target(job, target, ElementState::kHeld);
        if (ranges.empty())
          return Result<void>(not_in(job, target, "what is held can be released"));
        if (job.is_held_by_operator() && command.who.role == Role::kUser) {
          return Result<void>(fail(ErrorCode::kConflict,
                                   "job " + name_of_target(job, target) +
                                       " is held by an operator: only an operator may release it"));
        }
        std::vector<IndexRange> untouched = job.untouched_in(ElementState::kHeld);
        if (target.element)
          untouched =
              job.find_record(*target.element) == nullptr ? ranges : std::vector<IndexRange>{};
        step.emit(ElementsReleased{target.job, std::move(ranges), name_of_requester(command.who)});
        gate_again(step, target.job, std::move(untouched));
        step.want_pass();
        return Result<void>();
      });
}

void requeue_jobs(Step& step, const RequeueJobs& command) {
  for_each_target(
      step, command.who, command.which, "requeue", [&](const Job& job, const Target& target) {
        const std::vector<AttemptKey> running = attempts_of(step.cluster(), job, target);
        if (running.empty()) return Result<void>(not_in(job, target, "what runs can be requeued"));
        for (const AttemptKey& key : running) {
          stop_by_person(step, key, cause_by(CauseKind::kRequeued, command.who), true);
        }
        return Result<void>();
      });
}

void top_jobs(Step& step, const TopJobs& command) {
  for_each_target(step, command.who, command.which, "top",
                  [&](const Job& job, const Target& target) {
                    if (job.count(ElementState::kPending) + job.count(ElementState::kHeld) == 0) {
                      return Result<void>(not_in(job, target, "what waits can be put first"));
                    }
                    step.want_pass();
                    return move_to_top(step, job, name_of_requester(command.who));
                  });
}

void set_jobs(Step& step, const SetJobs& command) {
  const bool any = changes_terms(command) || command.depends || command.begin || command.deadline ||
                   command.throttle;
  if (!any) return step.refuse(fail(ErrorCode::kInvalid, "set: nothing to change"));
  for_each_target(
      step, command.who, command.which, "set", [&](const Job& job, const Target& target) {
        const Result<void> checked = check_change(step.cluster(), step.brain().board, job, command);
        if (!checked) return checked;
        const Result<void> gate = check_gate_change(step, job, command);
        if (!gate) return gate;
        const Result<void> order = check_order(step, job, command);
        if (!order) return order;
        emit_gate_change(step, job, command);
        if (!changes_terms(command)) return Result<void>();
        step.emit(JobChanged{target.job, command.time_limit, command.queue, command.account,
                             command.priority, command.name, std::nullopt,
                             name_of_requester(command.who), command.qos, command.nice,
                             command.reservation});
        step.want_pass();
        return Result<void>();
      });
}

}  // namespace muster
