// Weighing victims.
#include "controller/core/decide/preempt.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "controller/core/decide/place.h"

namespace muster {
namespace {

constexpr std::size_t kDomainsMax = 64;  // Of the topology, in which room is looked for.

// What of a node is free when some of its attempts have ended.
class Freed {
 public:
  explicit Freed(const NodeFree& node)
      : node_(node), cpus_(node.cpus_free()), memory_mib_(node.memory_mib_free()) {
    milli_.reserve(node.gpus.size());
    for (const GpuFree& gpu : node.gpus) milli_.push_back(gpu.ready ? gpu.milli_free : 0);
  }

  void release(const Stay& stay) { change(stay, true); }
  void keep(const Stay& stay) { change(stay, false); }

  bool fits(const Group& group) const {
    if (cpus_ < cpus_needed(group, node_) || memory_mib_ < memory_needed(group, node_))
      return false;
    GpuTally tally(group);
    for (std::size_t i = 0; i < milli_.size() && tally.count() < group.gpus_per_node; ++i) {
      const GpuFree& gpu = node_.gpus[i];
      if (milli_[i] >= group.gpu_milli && gpu_accepted(group, gpu.type, gpu.memory_mib))
        tally.add(gpu.clique, gpu.socket);
    }
    return tally.count() >= group.gpus_per_node;
  }

 private:
  void change(const Stay& stay, bool adds) {
    cpus_ = adds ? cpus_ + stay.cpus : cpus_ - stay.cpus;
    memory_mib_ = adds ? memory_mib_ + stay.memory_mib : memory_mib_ - stay.memory_mib;
    for (std::uint64_t mask = stay.whole; mask != 0; mask &= mask - 1)
      change_gpu(static_cast<std::size_t>(std::countr_zero(mask)), kMilliPerGpu, adds);
    for (const auto& [index, milli] : stay.parts) change_gpu(index, milli, adds);
  }

  void change_gpu(std::size_t index, std::uint32_t milli, bool adds) {
    if (index >= milli_.size() || !node_.gpus[index].ready) return;
    milli_[index] = adds ? milli_[index] + milli : milli_[index] - milli;
  }

  const NodeFree& node_;
  std::uint64_t cpus_;
  std::uint64_t memory_mib_;
  std::vector<std::uint32_t> milli_;
};

// Where a job that yields to others of its queue stands by now.
std::optional<std::int64_t> level_of(const Stay& stay, Instant now) {
  if (!stay.before) return std::nullopt;
  Service service = *stay.before;
  service.ran = service.ran + (now - stay.since);
  return level_of(service);
}

// Milli-GPU × milliseconds that would be lost. No images of attempts are kept yet: all since the
// launch. Where the order is that of service, who has had most is stopped first: milli-GPU × levels
// below the highest.
std::uint64_t loss_of(const Present& present, const Stay& stay) {
  const Instant now = present.now;
  if (const auto level = level_of(stay, now)) {
    const auto left = static_cast<std::uint64_t>(kLevelsMax + 1 - *level);
    return std::max<std::uint64_t>(1, stay.worth) * left;
  }
  const std::uint64_t worth =
      stay.worth != 0
          ? stay.worth
          : weighted_milli(present.cluster, *present.cluster.find_attempt(stay.attempt)->place);
  const std::int64_t ran = std::max<std::int64_t>(1, (now - stay.since).ms());
  return std::max<std::uint64_t>(1, worth) * static_cast<std::uint64_t>(ran);
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// A node, whom to stop there, and what that loses.
struct Option {
  std::uint64_t loss = 0;
  NodeId node;
  std::vector<const Stay*> victims;
};

class RoomSearch {
 public:
  RoomSearch(const Present& present, const Backfill& backfill, const PlanRequest& request,
             const QueueConfig& queue, const Reclaim* reclaim)
      : present_(present),
        backfill_(backfill),
        request_(request),
        queue_(queue),
        reclaim_(reclaim) {
    if (orders_by_service(queue)) {
      const Job& job = *present.cluster.find_job(request.element.job);
      level_ = level_of(service_of(job, request.element.element, present.now));
    }
    const QosConfig* qos = present.cluster.find_qos(request.terms->qos);
    for (const QueueConfig& other : present.cluster.config().queues) {
      preempts_.push_back(names(queue.preempts, other.name));
      qos_reaches_.push_back(qos != nullptr && reaches_by_qos(queue, other));
    }
    for (const QosConfig& other : present.cluster.config().qos)
      qos_preempts_.push_back(qos != nullptr && names(qos->preempts, other.name));
  }

  // Null, or what stopping the victims loses and the room that it makes.
  std::optional<std::pair<std::uint64_t, Room>> run() {
    if (!search({})) return std::nullopt;
    const std::uint64_t loss = loss_in_all();
    // A gang that had to be stopped frees all of its nodes: begun with those, less may be enough.
    std::map<AttemptKey, const Stay*> gangs;
    for (const auto& [key, stay] : chosen_) {
      if (present_.cluster.find_attempt(key)->place->members.size() > 1) gangs.emplace(key, stay);
    }
    if (!gangs.empty() && gangs.size() < chosen_.size()) {
      const Found first{chosen_, places_};
      if (!search(std::move(gangs)) || loss_in_all() >= loss)
        std::tie(chosen_, places_) = std::tie(first.chosen, first.places);
    }
    return std::make_pair(loss_in_all(), room());
  }

 private:
  struct Found {
    std::map<AttemptKey, const Stay*> chosen;
    std::vector<std::vector<NodeId>> places;
  };

  bool search(std::map<AttemptKey, const Stay*> begun_with) {
    chosen_ = std::move(begun_with);
    taken_.clear();
    for (const auto& [key, stay] : chosen_) note_taken(*stay);
    groups_.clear();
    places_.clear();
    for (const Group& group : request_.terms->groups) {
      if (!choose(group)) return false;
    }
    spare();
    return !chosen_.empty() && chosen_.size() <= kVictimsMax;
  }

  std::uint64_t loss_in_all() const {
    std::uint64_t loss = 0;
    for (const auto& [key, stay] : chosen_) loss += loss_of(present_, *stay);
    return loss;
  }

  Room room() {
    Room room{{}, std::move(places_), present_.now};
    for (const auto& [key, stay] : chosen_) {
      room.victims.push_back(key);
      room.at = std::max(room.at, present_.now + queue_of(*stay).kill_wait);
    }
    return room;
  }

  const QueueConfig& queue_of(const Stay& stay) const {
    return present_.cluster.config().queues[stay.queue];
  }

  bool is_by_qos(const Stay& stay) const {
    return stay.qos < qos_preempts_.size() && qos_preempts_[stay.qos] && qos_reaches_[stay.queue];
  }
  bool is_by_rule(const Stay& stay) const {
    return preempts_[stay.queue] || is_by_qos(stay) || yields(stay);
  }
  // Whatever is guaranteed to its owner.
  bool is_free(const Stay& stay) const {
    return is_by_rule(stay) && (reclaim_ == nullptr || !reclaim_->is_guarded(stay.attempt));
  }

  Duration least_run(const Stay& stay) const {
    const std::vector<QosConfig>& qos = present_.cluster.config().qos;
    const Duration by_qos = stay.qos < qos.size() ? qos[stay.qos].preempt_after : Duration{};
    return std::max(queue_of(stay).preempt_after, by_qos);
  }

  bool may_stop(const Stay& stay) const {
    if (stay.stopping || stay.queue >= preempts_.size()) return false;
    if (present_.now - stay.since < least_run(stay)) return false;
    if (is_free(stay)) return true;
    return reclaim_ != nullptr && (is_by_rule(stay) || reclaim_->takes_back(stay.attempt)) &&
           reclaim_->claim_on(stay.attempt);
  }

  // Whether its owner keeps what is guaranteed to it; then it is counted among those that go.
  bool takes(Reclaim::Taken& taken, const Stay& stay) const {
    if (is_free(stay)) return true;
    const auto claim = reclaim_->claim_on(stay.attempt);
    if (!claim || !Reclaim::is_covered(taken, *claim)) return false;
    taken[claim->borrower] += claim->milli;
    return true;
  }
  void note_taken(const Stay& stay) { MUSTER_ASSERT(takes(taken_, stay)); }

  // To one of its own queue that has had less.
  bool yields(const Stay& stay) const {
    if (!level_ || &queue_of(stay) != &queue_) return false;
    const std::optional<std::int64_t> level = level_of(stay, present_.now);
    return level && *level > *level_;
  }

  // The cheapest victims first until the group fits; then those that were not needed are let off.
  std::optional<Option> option_on(const Group& group, const NodeFree& node,
                                  std::uint64_t loss_max) const {
    Option option{0, node.id, {}};
    Freed freed(node);
    std::vector<std::pair<std::uint64_t, const Stay*>> able;
    for (const Stay& stay : present_.horizon.stays(node.id)) {
      if (chosen_.count(stay.attempt) != 0)
        freed.release(stay);
      else if (may_stop(stay))
        able.emplace_back(loss_of(present_, stay), &stay);
    }
    if (freed.fits(group)) return option;
    std::sort(able.begin(), able.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second->attempt) < std::tie(b.first, b.second->attempt);
    });
    Reclaim::Taken taken = taken_;
    for (const auto& [loss, stay] : able) {
      if (loss > loss_max) return std::nullopt;
      if (!takes(taken, *stay)) continue;
      freed.release(*stay);
      option.victims.push_back(stay);
      option.loss += loss;
      if (freed.fits(group)) return spared(group, std::move(freed), std::move(option));
    }
    return std::nullopt;
  }

  Option spared(const Group& group, Freed freed, Option option) const {
    std::vector<const Stay*>& victims = option.victims;
    for (std::size_t i = victims.size(); i-- > 0;) {
      freed.keep(*victims[i]);
      if (freed.fits(group)) {
        option.loss -= loss_of(present_, *victims[i]);
        victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        freed.release(*victims[i]);
      }
    }
    return option;
  }

  bool is_booked(NodeId node) const {
    return backfill_.is_booked_by_others(node, request_.element);
  }

  bool is_able(const GroupNeed& need, const NodeFree& node) const {
    if (!node.usable() || groups_.count(node.id) != 0 || is_booked(node.id)) return false;
    if (!present_.calendar->allows(node.id, *request_.terms, present_.now)) return false;
    const NodeClass& node_class = present_.ledger.classes()[node.node_class];
    if (request_.within != nullptr &&
        !std::binary_search(request_.within->begin(), request_.within->end(), node.id))
      return false;
    return in_queue(need, node_class) && is_named(need, node.id) &&
           idle_failed(*need.group, node_class) == Constraint::kFits &&
           node.memory_mib_total >= memory_needed(*need.group, node);
  }

  using Rank = std::tuple<std::uint64_t, NodeId>;

  bool choose(const Group& group) {
    GroupNeed need = need_of(present_.cluster, queue_, group);
    confine(need, present_.calendar->confines(*request_.terms));
    std::map<NodeId, Option> options;
    std::priority_queue<std::uint64_t> best;  // Worse than the best so many is of no use.
    std::uint64_t loss_max = UINT64_MAX;
    for (const NodeFree& node : present_.ledger.nodes()) {
      if (!is_able(need, node)) continue;
      std::optional<Option> option = option_on(group, node, loss_max);
      if (!option) continue;
      best.push(option->loss);
      if (best.size() > group.nodes_min) best.pop();
      if (best.size() == group.nodes_min) loss_max = best.top();
      options.emplace(node.id, *std::move(option));
    }
    return options.size() >= group.nodes_min && take(group, options);
  }

  // The cheapest node again and again; who is stopped for one is stopped for his other nodes too.
  bool take(const Group& group, std::map<NodeId, Option>& options) {
    std::set<Rank> ranks;
    for (const auto& [node, option] : options) ranks.emplace(option.loss, node);
    std::vector<NodeId> nodes;
    while (nodes.size() < group.nodes_min) {
      if (ranks.empty()) return false;
      const NodeId node = std::get<1>(*ranks.begin());
      ranks.erase(ranks.begin());
      if (!is_still_so(group, node, options.at(node))) continue;
      nodes.push_back(node);
      groups_.emplace(node, &group);
      for (const Stay* stay : options.at(node).victims) stop(group, *stay, options, ranks);
    }
    places_.push_back(std::move(nodes));
    return true;
  }

  // Who was to be stopped there may be all that its owner had borrowed, and stopped elsewhere.
  bool is_still_so(const Group& group, NodeId node, Option& option) const {
    if (taken_.empty()) return true;
    auto again = option_on(group, *present_.ledger.find_node(node), UINT64_MAX);
    if (again) option = *std::move(again);
    return again.has_value();
  }

  void stop(const Group& group, const Stay& stay, std::map<NodeId, Option>& options,
            std::set<Rank>& ranks) {
    if (!chosen_.emplace(stay.attempt, &stay).second) return;
    note_taken(stay);
    const Attempt& attempt = *present_.cluster.find_attempt(stay.attempt);
    for (const Member& member : attempt.place->members) {
      const auto known = options.find(member.node);
      if (known == options.end() || ranks.erase({known->second.loss, member.node}) == 0) continue;
      auto option = option_on(group, *present_.ledger.find_node(member.node), UINT64_MAX);
      if (!option) continue;
      known->second = *std::move(option);
      ranks.emplace(known->second.loss, member.node);
    }
  }

  // Every node that the attempt shares with the places still fits what it was chosen for.
  bool is_needless(const Stay& victim) const {
    const Attempt& attempt = *present_.cluster.find_attempt(victim.attempt);
    for (const Member& member : attempt.place->members) {
      const auto group = groups_.find(member.node);
      if (group == groups_.end()) continue;
      Freed freed(*present_.ledger.find_node(member.node));
      for (const Stay& stay : present_.horizon.stays(member.node)) {
        if (chosen_.count(stay.attempt) != 0) freed.release(stay);
      }
      if (!freed.fits(*group->second)) return false;
    }
    return true;
  }

  // Whom a later choice made needless, the dearest first.
  void spare() {
    if (chosen_.size() > kVictimsMax) return;
    std::vector<std::pair<std::uint64_t, const Stay*>> dearest;
    for (const auto& [key, stay] : chosen_) dearest.emplace_back(loss_of(present_, *stay), stay);
    std::sort(dearest.begin(), dearest.end(), [](const auto& a, const auto& b) {
      return std::tie(b.first, b.second->attempt) < std::tie(a.first, a.second->attempt);
    });
    for (const auto& [loss, stay] : dearest) {
      chosen_.erase(stay->attempt);
      if (!is_needless(*stay)) chosen_.emplace(stay->attempt, stay);
    }
  }

  const Present& present_;
  const Backfill& backfill_;
  const PlanRequest& request_;
  const QueueConfig& queue_;
  const Reclaim* reclaim_;
  std::optional<std::int64_t> level_;  // Its own, where others of the queue may be stopped for it.
  // By place in the configuration.
  std::vector<bool> preempts_;
  std::vector<bool> qos_reaches_;
  std::vector<bool> qos_preempts_;
  Reclaim::Taken taken_;  // By those chosen.
  std::map<AttemptKey, const Stay*> chosen_;
  std::map<NodeId, const Group*> groups_;  // Of the nodes chosen.
  std::vector<std::vector<NodeId>> places_;
};

}  // namespace

bool reaches_by_qos(const QueueConfig& own, const QueueConfig& victims) {
  if (own.priority != victims.priority) return own.priority > victims.priority;
  return !orders_by_service(own) && !orders_by_service(victims);
}

bool preempts_by_qos(const Cluster& cluster, const JobTerms& own, const JobTerms& victim) {
  const QosConfig* qos = cluster.find_qos(own.qos);
  const QueueConfig* queue = cluster.find_queue(own.queue);
  const QueueConfig* victims = cluster.find_queue(victim.queue);
  return qos != nullptr && queue != nullptr && victims != nullptr &&
         names(qos->preempts, victim.qos) && reaches_by_qos(*queue, *victims);
}

std::optional<Room> find_room(const Present& present, const Backfill& backfill,
                              const PlanRequest& request, const Reclaim* reclaim) {
  const QueueConfig* queue = present.cluster.find_queue(request.terms->queue);
  if (queue == nullptr) return std::nullopt;
  const QosConfig* qos = present.cluster.find_qos(request.terms->qos);
  const bool is_qos_idle = qos == nullptr || qos->preempts.empty();
  const bool takes_back = reclaim != nullptr && reclaim->takes_back();
  if (queue->preempts.empty() && is_qos_idle && !orders_by_service(*queue) && !takes_back)
    return std::nullopt;
  const auto inside = [&](const PlanRequest& there) {
    return RoomSearch(present, backfill, there, *queue, reclaim).run();
  };
  std::optional<std::pair<std::uint64_t, Room>> best;
  const JobTerms& terms = *request.terms;
  if (!terms.topology.required) {
    best = inside(request);
    return best ? std::optional(std::move(best->second)) : std::nullopt;
  }
  const auto able = able_nodes(present.cluster, present.ledger, *queue, terms.groups, true);
  for (std::vector<NodeId>& nodes :
       near_sets(present.ledger.topology(present.cluster), terms.topology, able,
                 nodes_wanted(terms.groups), kDomainsMax)) {
    std::sort(nodes.begin(), nodes.end());
    PlanRequest there = request;
    there.within = &nodes;
    auto room = inside(there);
    if (room && (!best || room->first < best->first)) best = std::move(room);
  }
  return best ? std::optional(std::move(best->second)) : std::nullopt;
}

std::string preemptor_text(ElementKey element, bool is_array) {
  return "job " + to_text(element, is_array);
}

}  // namespace muster
