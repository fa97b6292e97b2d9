// Jobs that wait for others or for a time, in a look ahead.
#include <algorithm>
#include <limits>

#include "controller/core/decide/forerun.h"

namespace muster {
namespace {

constexpr Instant kNotSeen{std::numeric_limits<std::int64_t>::max()};

}  // namespace

bool ForeRun::collect_dependents(const ForeDesk& desk, std::uint64_t& work) {
  while (work != 0 && gates_.size() < kDependentsMax) {
    const std::optional<JobId> next = desk.board.gates.next_after(dependent_last_);
    if (!next) return true;
    dependent_last_ = *next;
    add_dependent(desk, *desk.cluster.find_job(*next));
    work -= std::min<std::uint64_t>(work, 4);
  }
  return gates_.size() >= kDependentsMax;
}

// What is in line already stands for the rest of its job.
void ForeRun::add_dependent(const ForeDesk& desk, const Job& job) {
  const std::optional<Element> first = job.first_in(ElementState::kWaiting);
  const QueueConfig* queue = desk.cluster.find_queue(job.facts().queue());
  if (!first || queue == nullptr || job.count(ElementState::kPending) != 0) return;
  ForeGate gate;
  gate.lane = static_cast<std::uint32_t>(lanes_.size());
  if (!add_conditions(desk, job, gate)) return;
  Queued queued;
  const Rank rank = desk.board.order.rank(desk.cluster, job, began_);
  queued.turn = {-std::int64_t{queue->priority}, -rank.score, rank.length, position_of(job),
                 job.facts().id};
  queued.shape = shapes_count_++;
  Waiter waiter = waiter_of(job, entry_of(job));
  waiter.element = *first;
  waiter.elements = job.count(ElementState::kWaiting);
  waiter.gated = true;
  queued.waiters.push_back(std::move(waiter));
  queued.limits = tallies_of(desk, party_of(job.facts()));
  gates_.push_back(gate);
  lanes_.push_back(std::move(queued));
}

// False: it is not foreseen that they come true.
bool ForeRun::add_conditions(const ForeDesk& desk, const Job& job, ForeGate& gate) {
  const JobGate& waits = *job.facts().gate;
  const Element first = *job.first_in(ElementState::kWaiting);
  gate.any = waits.depends.any;
  gate.ready = began_;
  if (waits.begin.us != 0)
    gate.ready = std::max(gate.ready, desk.board.calendar.instant_of(waits.begin));
  const auto number = static_cast<std::uint32_t>(gates_.size());
  std::vector<std::pair<JobId, Watch>> watches;
  bool has_come = waits.depends.conditions.empty();
  for (const Condition& condition : waits.depends.conditions) {
    const Judged judged = desk.board.gates.judge(desk.cluster, job, condition, first, began_);
    const bool is_seen = judged.state != GateState::kNever &&
                         (judged.state != GateState::kOpen || condition.kind != After::kNotOk);
    if (!is_seen && !gate.any) return false;
    if (!is_seen) continue;
    if (judged.state != GateState::kOpen) {
      if (judged.state == GateState::kLater) gate.ready = std::max(gate.ready, judged.at);
      if (!gate.any) continue;
      watches.clear();
      has_come = true;
      break;
    }
    std::vector<JobId> targets{condition.job};
    if (condition.kind == After::kSingleton)
      targets = desk.board.gates.namesakes_before(desk.cluster, job, job.facts().name);
    gate.corr = gate.corr || condition.kind == After::kCorr;
    for (const JobId target : targets)
      watches.push_back(
          {target, {number, condition.kind, condition.element, condition.delay, false}});
  }
  if (gate.any && watches.empty() && !has_come) return false;
  gate.open = static_cast<std::uint32_t>(watches.size());
  for (const auto& [target, each] : watches) watch(desk, target, each);
  return true;
}

void ForeRun::watch(const ForeDesk& desk, JobId target, const Watch& watch) {
  const auto [it, is_new] = watched_.try_emplace(target);
  it->second.watches.push_back(watch);
  if (!is_new) return;
  const Job& job = *desk.cluster.find_job(target);
  it->second.unended = job.elements() - job.count(ElementState::kEnded);
  it->second.unstarted = it->second.unended - job.count(ElementState::kActive);
}

// At the beginning of a draw.
void ForeRun::close_gates() {
  let_through_.clear();
  for (auto& [job, watched] : watched_) {
    watched.to_start = watched.unstarted;
    watched.to_end = watched.unended;
    for (Watch& watch : watched.watches) watch.met = false;
  }
  for (ForeGate& gate : gates_) {
    Waiter& waiter = lanes_[gate.lane].waiters.front();
    waiter.ready = kNotSeen;
    if (gate.corr) waiter.allowed = 0;
    gate.left = gate.open;
    gate.at = gate.ready;
    gate.is_open = false;
    if (gate.left == 0) open(gate);
  }
}

void ForeRun::open(ForeGate& gate) {
  gate.is_open = true;
  lanes_[gate.lane].waiters.front().ready = gate.at;
  if (gate.at > now_) wakes_.insert(gate.at);
  let_through_.push_back(gate.lane);
}

void ForeRun::meet(Watch& watch, Instant at) {
  ForeGate& gate = gates_[watch.gate];
  if (watch.kind == After::kCorr) ++lanes_[gate.lane].waiters.front().allowed;
  if (gate.is_open || watch.met) return;
  watch.met = true;
  gate.at = std::max(gate.at, at);
  if (gate.left != 0 && --gate.left != 0 && !gate.any) return;
  open(gate);
}

void ForeRun::note_start(const AttemptKey& key) {
  const auto found = watched_.find(key.job);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  if (watched.to_start != 0) --watched.to_start;
  for (Watch& watch : watched.watches) {
    if (watch.kind != After::kStarted) continue;
    if (watch.element ? *watch.element == key.element : watched.to_start == 0)
      meet(watch, now_ + watch.delay);
  }
}

void ForeRun::note_end(const AttemptKey& key) {
  const auto found = watched_.find(key.job);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  if (watched.to_end != 0) --watched.to_end;
  for (Watch& watch : watched.watches) {
    if (watch.kind == After::kStarted) continue;
    const bool is_like = watch.kind == After::kCorr;
    if (is_like || (watch.element ? *watch.element == key.element : watched.to_end == 0))
      meet(watch, now_);
  }
}

}  // namespace muster
