// Keeping the index of who waits for whom.
#include "controller/core/decide/gates.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::uint32_t kEndsListedMax = 1000;  // Beyond, a whole look is cheaper.

bool waits(const Job& job) {
  return job.count(ElementState::kWaiting) != 0 || job.count(ElementState::kHeld) != 0;
}

bool has_gate(const Job& job) {
  const JobGate* gate = job.facts().gate.get();
  return gate != nullptr && (gate->waits() || job.count(ElementState::kWaiting) != 0);
}

}  // namespace

void Gates::rebuild(const Cluster& cluster) {
  entries_.clear();
  dependents_.clear();
  users_.clear();
  begins_.clear();
  delays_.clear();
  deadlines_.clear();
  deadline_of_.clear();
  due_.clear();
  overdue_.clear();
  for (const auto& [id, job] : cluster.jobs()) {
    if (job.facts().gate != nullptr) refresh(cluster, id);
  }
}

void Gates::before(const Cluster& cluster, const Event& event) {
  const auto* changed = std::get_if<JobChanged>(&event);
  if (changed == nullptr || !changed->name || users_.empty()) return;
  if (const Job* job = cluster.find_job(changed->job)) forget_name(*job);
}

void Gates::after(const Cluster& cluster, const Event& event) {
  if (const auto* launched = std::get_if<AttemptLaunched>(&event))
    return note_launch(cluster, launched->key);
  if (const auto* ended = std::get_if<ElementsEnded>(&event)) note_end(cluster, *ended);
  std::visit(
      [&](const auto& one) {
        using E = std::decay_t<decltype(one)>;
        constexpr bool kMoves =
            std::is_same_v<E, JobSubmitted> || std::is_same_v<E, ElementsHeld> ||
            std::is_same_v<E, ElementsReleased> || std::is_same_v<E, ElementsEnded> ||
            std::is_same_v<E, ElementRequeued> || std::is_same_v<E, JobChanged> ||
            std::is_same_v<E, ElementsReady> || std::is_same_v<E, GateChanged>;
        if constexpr (kMoves) {
          const Job* job = cluster.find_job(one.job);
          if (std::is_same_v<E, JobSubmitted> || std::is_same_v<E, JobChanged>) note_name(*job);
          refresh(cluster, one.job);
          // Elements that came to wait; what leaves needs no look at the rest.
          if (std::is_same_v<E, GateChanged> && entries_.count(one.job) != 0) wake({one.job});
        }
      },
      event);
}

void Gates::refresh(const Cluster& cluster, JobId id) {
  const Job& job = *cluster.find_job(id);
  const auto entry = entries_.find(id);
  if (job.facts().gate == nullptr && entry == entries_.end() && deadline_of_.count(id) == 0) return;
  follow_deadline(job);
  const bool wanted = has_gate(job) && waits(job);
  if (entry != entries_.end() && (!wanted || entry->second.facts != job.facts_shared())) leave(id);
  if (!wanted) return;
  if (entries_.count(id) != 0) return;
  enter(cluster, job);
  wake({id});
}

void Gates::enter(const Cluster& cluster, const Job& job) {
  const JobId id = job.facts().id;
  entries_[id] = Entry{job.facts_shared(), GateState::kOpen};
  const JobGate& gate = *job.facts().gate;
  if (gate.begin.us != 0) begins_.emplace(gate.begin, id);
  for (const Condition& condition : gate.depends.conditions) index(cluster, job, condition);
}

void Gates::leave(JobId id) {
  const auto entry = entries_.find(id);
  const JobFacts& facts = *entry->second.facts;
  begins_.erase({facts.gate->begin, id});
  for (const Condition& condition : facts.gate->depends.conditions) unindex(facts, condition);
  due_.erase(id);
  entries_.erase(entry);
}

void Gates::index(const Cluster& cluster, const Job& job, const Condition& condition) {
  const JobId id = job.facts().id;
  if (condition.kind == After::kSingleton) {
    if (users_[job.facts().uid()].waiting == 0) list_names(cluster, job.facts().uid());
    User& user = users_[job.facts().uid()];
    if (user.names[job.facts().name].waiting.insert(id).second) ++user.waiting;
    return;
  }
  if (cluster.find_job(condition.job) == nullptr) return;
  Dependents& dependents = dependents_[condition.job];
  if (condition.element)
    dependents.element[*condition.element].insert(id);
  else if (condition.kind == After::kCorr)
    dependents.corr.insert(id);
  else
    dependents.whole.insert(id);
  if (condition.kind == After::kStarted && !condition.element) dependents.started.insert(id);
}

void Gates::unindex(const JobFacts& facts, const Condition& condition) {
  if (condition.kind == After::kSingleton) {
    const auto user = users_.find(facts.uid());
    if (user == users_.end()) return;
    const auto name = user->second.names.find(facts.name);
    if (name != user->second.names.end() && name->second.waiting.erase(facts.id) != 0)
      --user->second.waiting;
    if (user->second.waiting == 0) users_.erase(user);
    return;
  }
  const auto found = dependents_.find(condition.job);
  if (found == dependents_.end()) return;
  Dependents& dependents = found->second;
  dependents.whole.erase(facts.id);
  dependents.started.erase(facts.id);
  dependents.corr.erase(facts.id);
  if (condition.element) {
    const auto element = dependents.element.find(*condition.element);
    if (element != dependents.element.end() && element->second.erase(facts.id) != 0 &&
        element->second.empty())
      dependents.element.erase(element);
  }
  if (dependents.empty()) dependents_.erase(found);
}

// Only what is not running can miss its deadline before it starts.
void Gates::follow_deadline(const Job& job) {
  const JobFacts& facts = job.facts();
  const bool stands = job.count(ElementState::kPending) != 0 || waits(job);
  WallTime latest;
  if (stands && facts.gate != nullptr && facts.gate->deadline.us != 0)
    latest = WallTime{facts.gate->deadline.us - facts.time_limit().us};
  const auto known = deadline_of_.find(facts.id);
  if (known != deadline_of_.end()) {
    if (known->second == latest) return;
    deadlines_.erase({known->second, facts.id});
    deadline_of_.erase(known);
  }
  if (latest.us == 0) return;
  deadlines_.emplace(latest, facts.id);
  deadline_of_.emplace(facts.id, latest);
}

void Gates::tick(const Cluster& cluster, Instant now, WallTime wall) {
  const auto wake_whole = [&](JobId id) {
    const Job* job = cluster.find_job(id);
    if (job == nullptr || entries_.count(id) == 0) return;
    due_[id].whole = true;
    due_[id].from = {};
  };
  while (!begins_.empty() && begins_.begin()->first <= wall) {
    wake_whole(begins_.begin()->second);
    begins_.erase(begins_.begin());
  }
  while (!delays_.empty() && delays_.begin()->first <= now) {
    wake_whole(delays_.begin()->second);
    delays_.erase(delays_.begin());
  }
  while (!deadlines_.empty() && deadlines_.begin()->first < wall) {
    overdue_.insert(deadlines_.begin()->second);
    deadline_of_.erase(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
  }
}

void Gates::wake(const std::set<JobId>& jobs) {
  for (const JobId id : jobs) {
    due_[id].whole = true;
    due_[id].from = {};
  }
}

void Gates::note_end(const Cluster& cluster, const ElementsEnded& event) {
  const Job& job = *cluster.find_job(event.job);
  if (job.is_ended()) forget_name(job);
  const auto found = dependents_.find(event.job);
  if (found == dependents_.end()) return;
  const Dependents& dependents = found->second;
  const std::uint32_t failed = job.count(ElementState::kEnded) - job.completed();
  std::uint32_t size = 0;
  for (const IndexRange& range : event.elements)
    size += (range.last - range.first) / range.step + 1;
  const bool first_failure = event.cause.kind != CauseKind::kCompleted && failed == size;
  if (job.is_ended() || first_failure) wake(dependents.whole);
  if (size > kEndsListedMax) {
    wake(dependents.corr);
    for (const auto& [element, jobs] : dependents.element) wake(jobs);
    return;
  }
  for (const IndexRange& range : event.elements) {
    for (std::uint32_t i = range.first; i <= range.last; i += range.step) {
      for (const JobId id : dependents.corr) due_[id].elements.insert(Element{i});
      const auto element = dependents.element.find(Element{i});
      if (element != dependents.element.end()) wake(element->second);
    }
  }
}

void Gates::note_launch(const Cluster& cluster, const AttemptKey& key) {
  const auto found = dependents_.find(key.job);
  if (found == dependents_.end()) return;
  const auto element = found->second.element.find(key.element);
  if (element != found->second.element.end()) wake(element->second);
  const Job& job = *cluster.find_job(key.job);
  const std::uint32_t begun = job.count(ElementState::kActive) + job.count(ElementState::kEnded);
  if (begun == job.elements()) wake(found->second.started);
}

bool Gates::set_state(JobId job, GateState state) {
  const auto entry = entries_.find(job);
  if (entry == entries_.end() || entry->second.state == state) return false;
  entry->second.state = state;
  return true;
}

WaitReason Gates::reason_of(JobId job) const {
  const auto entry = entries_.find(job);
  const GateState state = entry == entries_.end() ? GateState::kOpen : entry->second.state;
  if (state == GateState::kNever) return WaitReason::kDependencyNever;
  return state == GateState::kHolds ? WaitReason::kNotYet : WaitReason::kDependency;
}

// ---- names, for singleton ----

void Gates::list_names(const Cluster& cluster, Uid uid) {
  User& user = users_[uid];
  for (const auto& [id, job] : cluster.jobs()) {
    if (job.facts().uid() == uid && !job.is_ended())
      user.names[job.facts().name].unfinished.insert(id);
  }
}

const Gates::Namesakes* Gates::find_names(Uid uid, const std::string& name) const {
  const auto user = users_.find(uid);
  if (user == users_.end()) return nullptr;
  const auto names = user->second.names.find(name);
  return names == user->second.names.end() ? nullptr : &names->second;
}

void Gates::note_name(const Job& job) {
  if (users_.empty() || job.is_ended()) return;
  const auto user = users_.find(job.facts().uid());
  if (user != users_.end()) user->second.names[job.facts().name].unfinished.insert(job.facts().id);
}

void Gates::forget_name(const Job& job) {
  if (users_.empty() || find_names(job.facts().uid(), job.facts().name) == nullptr) return;
  auto& names = users_.at(job.facts().uid()).names;
  Namesakes& same = names.at(job.facts().name);
  same.unfinished.erase(job.facts().id);
  if (!same.waiting.empty()) return wake_first(same);
  if (same.unfinished.empty()) names.erase(job.facts().name);
}

// Only the first of all can go: the others wait for it.
void Gates::wake_first(const Namesakes& names) {
  if (names.unfinished.empty()) return;
  const JobId first = *names.unfinished.begin();
  if (names.waiting.count(first) != 0) wake({first});
}

bool Gates::is_first_of_name(const Cluster& cluster, const Job& job) const {
  if (users_.count(job.facts().uid()) == 0)
    return namesakes_before(cluster, job, job.facts().name).empty();
  const Namesakes* names = find_names(job.facts().uid(), job.facts().name);
  return names == nullptr || names->unfinished.empty() ||
         *names->unfinished.begin() >= job.facts().id;
}

std::vector<JobId> Gates::namesakes_before(const Cluster& cluster, const Job& job,
                                           const std::string& name) const {
  std::vector<JobId> before;
  const JobFacts& facts = job.facts();
  if (users_.count(facts.uid()) != 0) {
    const Namesakes* names = find_names(facts.uid(), name);
    if (names == nullptr) return before;
    for (const JobId id : names->unfinished) {
      if (id >= facts.id) break;
      before.push_back(id);
    }
    return before;
  }
  for (const auto& [id, other] : cluster.jobs()) {
    if (id >= facts.id) break;
    const bool same = other.facts().uid() == facts.uid() && other.facts().name == name;
    if (same && !other.is_ended()) before.push_back(id);
  }
  return before;
}

std::set<JobId> Gates::singletons_after(Uid uid, const std::string& name, JobId job) const {
  const Namesakes* names = find_names(uid, name);
  if (names == nullptr) return {};
  return {names->waiting.upper_bound(job), names->waiting.end()};
}

}  // namespace muster
