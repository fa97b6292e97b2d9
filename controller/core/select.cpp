// Finding the jobs a verb means.
#include "controller/core/select.h"

#include <algorithm>

#include "base/types/text.h"

namespace muster {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_operator(const Requester& who) { return who.role != Role::kUser; }

bool matches(const Job& job, const Requester& who, const JobSelection& which) {
  const JobFacts& facts = job.facts();
  if (!which.names.empty() && !contains(which.names, facts.name)) return false;
  if (!which.users.empty() && !contains(which.users, facts.user())) return false;
  if (!which.queues.empty() && !contains(which.queues, facts.queue())) return false;
  return !which.all_mine || facts.uid() == who.uid;
}

Result<void> check_target(const Cluster& cluster, const Requester& who, const Target& target,
                          std::string_view verb) {
  const std::string id = std::to_string(target.job.value);
  const Job* job = cluster.find_job(target.job);
  if (job == nullptr) {
    if (const std::optional<CauseKind> end = cluster.forgotten_end(target.job)) {
      return fail(ErrorCode::kConflict,
                  "job " + id + " is over (" + std::string(name_of(*end)) + "); see gpuacct " + id);
    }
    return fail(ErrorCode::kNotFound, "there is no job " + id);
  }
  if (target.element && !job->state_of(*target.element)) {
    return fail(ErrorCode::kNotFound,
                "job " + id + " has no element " + std::to_string(target.element->value));
  }
  if (job->facts().uid() == who.uid || is_operator(who)) return {};
  return fail(ErrorCode::kConflict, "job " + id + " belongs to " + job->facts().user() +
                                        ": only its owner or an operator may " + std::string(verb) +
                                        " it");
}

// Jobs found by filter: others' jobs are passed over, not complained about.
std::vector<Target> targets_by_filter(const Cluster& cluster, const Requester& who,
                                      const JobSelection& which) {
  std::vector<Target> targets;
  for (const auto& [id, job] : cluster.jobs()) {
    if (job.is_ended() || !matches(job, who, which)) continue;
    if (job.facts().uid() != who.uid && !is_operator(who)) continue;
    targets.push_back({id, std::nullopt});
  }
  return targets;
}

std::vector<Target> targets_by_id(const JobSelection& which) {
  std::vector<Target> targets;
  for (std::size_t i = 0; i < which.elements.size(); ++i) {
    const bool has_element = i < which.element_given.size() && which.element_given[i];
    Target target{which.elements[i].job, std::nullopt};
    if (has_element) target.element = which.elements[i].element;
    targets.push_back(target);
  }
  return targets;
}

bool is_empty(const JobSelection& which) {
  return which.elements.empty() && which.names.empty() && which.users.empty() &&
         which.queues.empty() && !which.all_mine;
}

// Notes and errors of many targets become one answer.
class Tally {
 public:
  explicit Tally(Step& step) : step_(step) {}
  void add(const Target& target, const Result<void>& result) {
    if (result) {
      auto& jobs = step_.out().reply.jobs;
      if (jobs.empty() || jobs.back() != target.job) jobs.push_back(target.job);
      return;
    }
    if (!first_) first_ = result.error();
    notes_.push_back(result.error().message);
  }
  void close() {
    if (step_.out().reply.jobs.empty() && first_) {
      step_.refuse(*first_);
      notes_.erase(notes_.begin());
    }
    for (std::string& note : notes_) step_.note(std::move(note));
  }

 private:
  Step& step_;
  std::optional<Error> first_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string name_of_target(const Job& job, const Target& target) {
  if (!target.element) return std::to_string(target.job.value);
  return to_text(ElementKey{target.job, *target.element}, job.is_array());
}

std::vector<IndexRange> ranges_of_target(const Job& job, const Target& target, ElementState state) {
  if (!target.element) return job.ranges_in(state);
  if (job.state_of(*target.element) != state) return {};
  return {IndexRange{target.element->value, target.element->value, 1}};
}

void for_each_target(Step& step, const Requester& who, const JobSelection& which,
                     std::string_view verb,
                     const std::function<Result<void>(const Job&, const Target&)>& act) {
  if (is_empty(which)) {
    return step.refuse(fail(ErrorCode::kInvalid, std::string(verb) + ": no job was named"));
  }
  const bool by_id = !which.elements.empty();
  const std::vector<Target> targets =
      by_id ? targets_by_id(which) : targets_by_filter(step.cluster(), who, which);
  Tally tally(step);
  for (const Target& target : targets) {
    if (step.is_full()) {
      step.note("that was too much for one step: repeat the command for the rest");
      break;
    }
    Result<void> result = check_target(step.cluster(), who, target, verb);
    if (result) {
      const Job& job = *step.cluster().find_job(target.job);
      if (by_id && !matches(job, who, which)) {
        result = fail(ErrorCode::kNotFound, "job " + name_of_target(job, target) +
                                                " does not match the other conditions");
      } else {
        result = act(job, target);
      }
    }
    tally.add(target, result);
  }
  if (targets.empty()) {
    step.refuse(fail(ErrorCode::kNotFound, std::string(verb) + ": no job matches"));
  }
  tally.close();
}

}  // namespace muster
