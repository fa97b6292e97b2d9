// Looking ahead on every node.
#include "controller/core/decide/backfill.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <tuple>

#include "controller/core/decide/place.h"

namespace muster {
namespace {

constexpr int kRoundsMax = 8;                   // Of moving a planned start behind other bookings.
constexpr Duration kOverdueWait = seconds(30);  // What is over its limit ends after so long.

Instant effective_end(const Stay& stay, Instant now) {
  return stay.end > now ? stay.end : now + kOverdueWait;
}

}  // namespace

// What of one node is free at a time to come, as it is counted forward from now.
class Backfill::Profile {
 public:
  Profile(const Present& present, const NodeFree& node, const std::vector<Booking>& bookings)
      : now_(present.now),
        node_(node),
        stays_(present.horizon.stays(node.id)),
        bookings_(bookings),
        cpus_(node.cpus_free()),
        memory_mib_(node.memory_mib_free()) {
    milli_.reserve(node.gpus.size());
    for (const GpuFree& gpu : node.gpus) milli_.push_back(gpu.ready ? gpu.milli_free : 0);
    // Stays are in the order of their ends: only those overdue, at the front, may be out of it.
    while (overdue_ < stays_.size() && stays_[overdue_].end <= now_) ++overdue_;
    next_ = overdue_;
  }

  // The times at which something comes free, in rising order, from `from` on.
  std::vector<Instant> changes(Instant from) const {
    std::vector<Instant> times{from};
    times.reserve(stays_.size() + bookings_.size() + 1);
    for (const Stay& stay : stays_) {
      const Instant end = effective_end(stay, now_);
      if (end > from) times.push_back(end);
    }
    for (const Booking& booking : bookings_) {
      if (booking.until > from) times.push_back(booking.until);
    }
    if (overdue_ != 0 || !bookings_.empty()) std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  // At `at` and whenever a booking begins before `end`. Times asked for must rise: what has ended
  // by then is added up.
  bool holds(const Group& group, Instant at, Instant end) {
    advance(at);
    if (!fits(group, at)) return false;
    return std::all_of(bookings_.begin(), bookings_.end(), [&](const Booking& booking) {
      if (booking.from <= at || booking.is_after(at, end)) return true;
      Profile later = *this;
      later.advance(booking.from);
      return later.fits(group, booking.from);
    });
  }

 private:
  void advance(Instant to) {
    if (overdue_ != 0 && now_ + kOverdueWait <= to) {
      for (std::size_t i = 0; i < overdue_; ++i) free(stays_[i]);
      overdue_ = 0;
    }
    for (; next_ < stays_.size() && stays_[next_].end <= to; ++next_) free(stays_[next_]);
  }

  void free(const Stay& stay) {
    cpus_ += stay.cpus;
    memory_mib_ += stay.memory_mib;
    for (std::uint64_t mask = stay.whole; mask != 0; mask &= mask - 1) {
      const auto index = static_cast<std::size_t>(std::countr_zero(mask));
      if (index < milli_.size() && node_.gpus[index].ready) milli_[index] = kMilliPerGpu;
    }
    for (const auto& [index, milli] : stay.parts) {
      if (index < milli_.size() && node_.gpus[index].ready) milli_[index] += milli;
    }
  }

  std::uint32_t gpus_for(const Group& group) const {
    if (group.gpus_per_node == 0) return 0;
    GpuTally tally(group);
    for (std::size_t i = 0; i < milli_.size(); ++i) {
      if (milli_[i] < group.gpu_milli) continue;
      const GpuFree& gpu = node_.gpus[i];
      if (gpu_accepted(group, gpu.type, gpu.memory_mib)) tally.add(gpu.clique, gpu.socket);
    }
    return tally.count();
  }

  // Beside all that is booked at that time. Any two requests are taken to want the same devices.
  bool fits(const Group& group, Instant at) const {
    std::uint64_t cpus = cpus_needed(group, node_);
    if (cpus_ < cpus) return false;
    std::uint64_t memory_mib = memory_needed(group, node_);
    std::uint64_t gpus = group.gpus_per_node;
    for (const Booking& booking : bookings_) {
      if (booking.from > at || booking.until <= at) continue;
      cpus += cpus_needed(booking.need(), node_);
      memory_mib += memory_needed(booking.need(), node_);
      gpus += booking.need().gpus_per_node;
    }
    if (cpus_ < cpus || memory_mib_ < memory_mib) return false;
    if (gpus_for(group) < (group.gpus_per_node == 0 ? 0 : gpus)) return false;
    if (gpus == group.gpus_per_node) return true;
    return std::all_of(bookings_.begin(), bookings_.end(), [&](const Booking& booking) {
      const bool wants = booking.from <= at && booking.until > at;
      return !wants || booking.need().gpus_per_node == 0 || gpus_for(booking.need()) >= gpus;
    });
  }

  Instant now_;
  const NodeFree& node_;
  const std::vector<Stay>& stays_;
  const std::vector<Booking>& bookings_;
  std::uint64_t cpus_;
  std::uint64_t memory_mib_;
  std::vector<std::uint32_t> milli_;  // By GPU.
  std::size_t overdue_ = 0;           // Stays that should have ended, not added up yet.
  std::size_t next_ = 0;
};

void Backfill::clear(Instant now) {
  before_.clear();
  for (auto it = plans_.begin(); it != plans_.end();) {
    const PlannedStart& plan = it->second;
    before_[it->first] = {{plan.nodes.begin(), plan.nodes.end()}, plan.promised};
    it = plan.freed && now < plan.at + kRoomHeldFor ? std::next(it) : erase(it);
  }
}

Backfill::Plans::iterator Backfill::erase(Plans::iterator plan) {
  for (const NodeId node : plan->second.nodes) {
    const auto found = booked_.find(node);
    if (found == booked_.end()) continue;
    std::vector<Booking>& here = found->second;
    here.erase(std::remove_if(here.begin(), here.end(),
                              [&](const Booking& b) { return b.element == plan->first; }),
               here.end());
    if (here.empty()) booked_.erase(found);
  }
  --planned_[plan->second.queue];
  return plans_.erase(plan);
}

bool Backfill::remove(JobId job) {
  bool had = false;
  for (auto it = plans_.lower_bound(ElementKey{job, {}});
       it != plans_.end() && it->first.job == job; had = true)
    it = erase(it);
  return had;
}

bool Backfill::remove_unwanted(const Job& job) {
  bool had = false;
  for (auto it = plans_.lower_bound(ElementKey{job.facts().id, {}});
       it != plans_.end() && it->first.job == job.facts().id;) {
    const bool wanted = job.state_of(it->first.element) == ElementState::kPending;
    had = had || !wanted;
    it = wanted ? std::next(it) : erase(it);
  }
  return had;
}

void Backfill::remove(ElementKey element) {
  if (const auto found = plans_.find(element); found != plans_.end()) erase(found);
}

const PlannedStart* Backfill::find(ElementKey element) const {
  const auto found = plans_.find(element);
  return found == plans_.end() ? nullptr : &found->second;
}

const std::set<NodeId>* Backfill::nodes_before(ElementKey element) const {
  const auto found = before_.find(element);
  return found == before_.end() ? nullptr : &found->second.nodes;
}

std::uint32_t Backfill::planned_in(const std::string& queue) const {
  const auto found = planned_.find(queue);
  return found == planned_.end() ? 0 : found->second;
}

const std::vector<Backfill::Booking>& Backfill::bookings(NodeId node) const {
  static const std::vector<Booking> kNone;
  const auto found = booked_.find(node);
  return found == booked_.end() ? kNone : found->second;
}

bool Backfill::allows(const Present& present, const Group& group, const NodeFree& node, Instant end,
                      ElementKey element) const {
  const std::vector<Booking>& here = bookings(node.id);
  if (here.empty()) return true;
  if (find(element) == nullptr) return Profile(present, node, here).holds(group, present.now, end);
  std::vector<Booking> others;
  for (const Booking& booking : here) {
    if (booking.element != element) others.push_back(booking);
  }
  return Profile(present, node, others).holds(group, present.now, end);
}

namespace {

struct Readiness {
  std::optional<Instant> ready;
};

// Whether so many GPUs can be whole by then at all: what ends says it, without a look at each GPU.
bool can_be_whole(const NodeFree& node, const std::vector<Stay>& stays, std::uint32_t gpus,
                  Instant latest) {
  std::uint32_t whole = node.gpus_whole;
  for (std::size_t next = 0; whole < gpus; ++next) {
    if (next == stays.size()) return false;
    const Stay& stay = stays[next];
    if (!stay.parts.empty()) return true;
    if (stay.end > latest) return false;
    whole += static_cast<std::uint32_t>(std::popcount(stay.whole));
  }
  return true;
}

// The common case, where only whole GPUs are used and nothing is booked. Null: it is not that case.
std::optional<Readiness> ready_alone(const Present& present, const Group& group,
                                     const NodeFree& node, Instant from, Instant latest) {
  const std::vector<Stay>& stays = present.horizon.stays(node.id);
  const bool is_late = !stays.empty() && stays.front().end <= present.now;
  if (!is_late && !can_be_whole(node, stays, group.gpus_per_node, latest)) return Readiness{};
  std::uint64_t accepted = 0;
  std::uint64_t free = 0;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuFree& gpu = node.gpus[i];
    if (!gpu.ready) continue;
    if (gpu_accepted(group, gpu.type, gpu.memory_mib)) accepted |= std::uint64_t{1} << i;
    if (gpu.is_whole()) free |= std::uint64_t{1} << i;
  }
  std::uint64_t cpus = node.cpus_free();
  std::uint64_t memory_mib = node.memory_mib_free();
  const std::uint64_t memory_mib_needed = memory_needed(group, node);
  const std::uint64_t cpus_wanted = cpus_needed(group, node);
  Instant at = from;
  for (std::size_t next = 0;; ++next) {
    const bool fits =
        cpus >= cpus_wanted && memory_mib >= memory_mib_needed &&
        static_cast<std::uint32_t>(std::popcount(free & accepted)) >= group.gpus_per_node;
    if (fits) return Readiness{at};
    if (next == stays.size()) return Readiness{};
    const Stay& stay = stays[next];
    if (!stay.parts.empty() || stay.end <= present.now) return std::nullopt;
    at = std::max(from, stay.end);
    if (at > latest) return Readiness{};
    cpus += stay.cpus;
    memory_mib += stay.memory_mib;
    free |= stay.whole;
  }
}

}  // namespace

std::optional<Instant> Backfill::ready_on(const Present& present, const PlanRequest& request,
                                          const Group& group, const NodeFree& node,
                                          Span span) const {
  const JobTerms& terms = *request.terms;
  const Calendar& calendar = *present.calendar;
  const std::vector<Booking>& booked = bookings(node.id);
  const bool plain = group.gpu_milli == kMilliPerGpu && !wants_gpus_together(group);
  if (booked.empty() && node.gpus.size() <= 64 && plain) {
    const auto known = ready_alone(present, group, node, span.from, span.latest);
    if (known && (!known->ready || calendar.allows(node.id, terms, *known->ready)))
      return known->ready;
  }
  Profile profile(present, node, booked);
  std::vector<Instant> times = profile.changes(span.from);
  if (const auto openings = calendar.openings(node.id, terms, span.from); !openings.empty()) {
    times.insert(times.end(), openings.begin(), openings.end());
    std::sort(times.begin(), times.end());
  }
  for (const Instant at : times) {
    if (at > span.latest) return std::nullopt;
    if (calendar.allows(node.id, terms, at) && profile.holds(group, at, at + span.time)) return at;
  }
  return std::nullopt;
}

std::vector<Backfill::Candidate> Backfill::ready_nodes(const Present& present,
                                                       const PlanRequest& request,
                                                       std::uint32_t index, Span span,
                                                       const std::set<NodeId>& taken) const {
  std::vector<Candidate> ready;
  const QueueConfig* queue = present.cluster.find_queue(request.terms->queue);
  if (queue == nullptr) return ready;
  const Group& group = request.terms->groups[index];
  GroupNeed need = need_of(present.cluster, *queue, group);
  confine(need, present.calendar->confines(*request.terms));
  std::vector<bool> able;
  for (const NodeClass& node_class : present.ledger.classes()) {
    able.push_back(in_queue(need, node_class) &&
                   idle_failed(group, node_class) == Constraint::kFits);
  }
  // Later than the best so many known is of no use.
  std::priority_queue<Instant> best;
  const auto look_at = [&](const NodeFree& node) {
    if (!node.usable() || !able[node.node_class] || !is_named(need, node.id)) return;
    if (taken.count(node.id) != 0 || node.memory_mib_total < memory_needed(group, node)) return;
    const auto at = ready_on(present, request, group, node, span);
    if (!at) return;
    ready.push_back({*at, node.id});
    best.push(*at);
    if (best.size() > group.nodes_min) best.pop();
    if (best.size() == group.nodes_min) span.latest = best.top();
  };
  if (request.within != nullptr) {
    for (const NodeId id : *request.within) look_at(*present.ledger.find_node(id));
  } else {
    for (const NodeFree& node : present.ledger.nodes()) look_at(node);
  }
  return ready;
}

// Of the nodes that are ready when enough of them are: those planned before, then those that come
// free last, which serves others longest. ready[wanted - 1] is when enough are.
std::vector<NodeId> Backfill::choose(ElementKey element, std::vector<Candidate>& ready,
                                     std::size_t wanted) const {
  const auto enough = ready.begin() + static_cast<std::ptrdiff_t>(wanted) - 1;
  std::nth_element(ready.begin(), enough, ready.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.ready, a.node) < std::tie(b.ready, b.node);
  });
  const Instant at = enough->ready;
  const auto before = before_.find(element);
  using Choice = std::tuple<bool, std::int64_t, NodeId>;
  std::vector<Choice> choices;
  for (const Candidate& candidate : ready) {
    if (candidate.ready > at) continue;
    const bool is_new = before == before_.end() || before->second.nodes.count(candidate.node) == 0;
    choices.emplace_back(is_new, -candidate.ready.us, candidate.node);
  }
  std::sort(choices.begin(), choices.end());
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < wanted; ++i) nodes.push_back(std::get<2>(choices[i]));
  return nodes;
}

std::optional<std::vector<std::vector<NodeId>>> Backfill::nodes_at(const Present& present,
                                                                   const PlanRequest& request,
                                                                   Instant& at) const {
  std::vector<std::vector<NodeId>> places;
  std::set<NodeId> taken;
  Instant latest = at;
  for (std::uint32_t i = 0; i < request.terms->groups.size(); ++i) {
    const std::size_t wanted = request.terms->groups[i].nodes_min;
    std::vector<Candidate> ready =
        ready_nodes(present, request, i,
                    {at, request.time, Instant{std::numeric_limits<std::int64_t>::max()}}, taken);
    if (ready.size() < wanted) return std::nullopt;
    places.push_back(choose(request.element, ready, wanted));
    taken.insert(places.back().begin(), places.back().end());
    latest = std::max(latest, ready[wanted - 1].ready);
  }
  at = latest;
  return places;
}

bool Backfill::is_booked_by_others(NodeId node, ElementKey element) const {
  const std::vector<Booking>& here = bookings(node);
  return std::any_of(here.begin(), here.end(),
                     [&](const Booking& booking) { return booking.element != element; });
}

bool Backfill::is_booked(const Present& present,
                         const std::vector<std::vector<NodeId>>& places) const {
  return std::any_of(places.begin(), places.end(), [&](const std::vector<NodeId>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return booked_.count(node) != 0 || present.calendar->is_listed(node);
    });
  });
}

std::optional<Backfill::Timed> Backfill::earliest(const Present& present,
                                                  const PlanRequest& request) const {
  Instant at = present.now;
  std::optional<std::vector<std::vector<NodeId>>> places;
  for (int round = 0; round < kRoundsMax; ++round) {
    const Instant asked = at;
    places = nodes_at(present, request, at);
    if (!places) return std::nullopt;
    // Without bookings what is ready stays ready.
    if (at == asked || !is_booked(present, *places)) break;
    places.reset();
  }
  if (!places) return std::nullopt;
  return Timed{at, *std::move(places)};
}

std::optional<Backfill::Timed> Backfill::earliest_near(const Present& present,
                                                       const PlanRequest& request) const {
  constexpr std::size_t kSetsPlanned = 1024;
  const JobTerms& terms = *request.terms;
  const QueueConfig* queue = present.cluster.find_queue(terms.queue);
  if (queue == nullptr) return std::nullopt;
  const auto able = able_nodes(present.cluster, present.ledger, *queue, terms.groups, true);
  std::optional<Timed> best;
  for (const std::vector<NodeId>& nodes :
       near_sets(present.ledger.topology(present.cluster), terms.topology, able,
                 nodes_wanted(terms.groups), kSetsPlanned)) {
    PlanRequest there = request;
    there.within = &nodes;
    std::optional<Timed> timed = earliest(present, there);
    if (timed && (!best || timed->at < best->at)) best = std::move(timed);
  }
  return best;
}

const PlannedStart* Backfill::plan(const Present& present, const PlanRequest& request) {
  const std::optional<Timed> timed = request.terms->topology.required
                                         ? earliest_near(present, request)
                                         : earliest(present, request);
  return timed ? &enter(present, request, timed->at, timed->places) : nullptr;
}

void Backfill::book(const Present& present, const PlanRequest& request, const FreedRoom& room) {
  std::vector<std::vector<NodeId>> places;
  for (const RoomGroup& group : room.groups) places.push_back(group.nodes);
  enter(present, request, room.at, places).freed = true;
}

PlannedStart& Backfill::enter(const Present& present, const PlanRequest& request, Instant at,
                              const std::vector<std::vector<NodeId>>& places) {
  remove(request.element);
  PlannedStart start{request.element, request.terms->queue, at, at + request.time, {}, at, {}};
  if (const auto before = before_.find(request.element); before != before_.end())
    start.promised = std::min(at, before->second.promised);
  const bool late = request.predicted && at > start.promised + kPlanSlack;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    for (const NodeId node : places[i]) {
      start.nodes.push_back(node);
      booked_[node].push_back(Booking{request.element, at, start.until, request.terms, i, late});
      for (const Stay& stay : present.horizon.stays(node)) {
        if (effective_end(stay, present.now) == at) start.waits_for = stay.attempt;
      }
    }
  }
  ++planned_[request.terms->queue];
  return plans_.insert_or_assign(request.element, std::move(start)).first->second;
}

}  // namespace muster
