// Choosing nodes and devices: what costs the jobs to come least.
#include "controller/core/decide/place.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster {
namespace {

bool has_features(const Group& group, const NodeTraits& traits) {
  if (!group.wish.empty() && !is_granted(group.wish, traits.features)) return false;
  return std::all_of(group.features.begin(), group.features.end(), [&](const std::string& feature) {
    return std::binary_search(traits.features.begin(), traits.features.end(), feature);
  });
}

std::uint32_t gpus_total_for(const Group& group, const NodeTraits& traits) {
  std::uint32_t count = 0;
  for (const auto& [type, memory] : traits.gpus)
    count += gpu_accepted(group, type, memory) ? 1U : 0U;
  return count;
}

std::uint32_t together_total_for(const Group& group, const NodeTraits& traits) {
  GpuTally tally(group);
  for (std::size_t i = 0; i < traits.gpus.size(); ++i) {
    if (gpu_accepted(group, traits.gpus[i].first, traits.gpus[i].second))
      tally.add(traits.cliques[i], traits.sockets[i]);
  }
  return tally.count();
}

std::uint64_t memory_share(const Group& group, std::uint32_t cpus, std::uint64_t memory_mib,
                           std::size_t gpus) {
  if (group.exclusive || group.memory_all) return memory_mib;
  if (group.memory_mib_per_node != 0) return group.memory_mib_per_node;
  if (group.gpus_per_node != 0 && gpus != 0) {
    const std::uint64_t milli = std::uint64_t{group.gpus_per_node} * group.gpu_milli;
    return memory_mib * milli / (std::uint64_t{gpus} * kMilliPerGpu);
  }
  return cpus == 0 ? 0 : memory_mib * group.cpus_per_node / cpus;
}

bool free_enough(const Group& group, const GpuFree& gpu) {
  return gpu.ready && gpu.milli_free >= group.gpu_milli &&
         gpu_accepted(group, gpu.type, gpu.memory_mib);
}

// One GPU that could serve, its rank by type and the rank of its clique.
struct DeviceChoice {
  std::size_t type_rank = 0;
  std::pair<int, std::uint32_t> clique_rank;
  std::int64_t cost = 0;
  const GpuFree* gpu = nullptr;
  auto order() const {
    return std::make_tuple(type_rank, clique_rank, gpu->clique, cost, gpu->milli_free, gpu->index);
  }
};

bool is_better(const DeviceChoice& a, const DeviceChoice& b) { return a.order() < b.order(); }

// What a share of a GPU takes off the worth of its node, where the choice is between them.
void weigh_shares(const Ledger& ledger, const Group& group, const NodeFree& node,
                  std::vector<DeviceChoice>& choices) {
  if (group.gpus_per_node != 1 || group.gpu_milli == kMilliPerGpu) return;
  std::map<std::tuple<std::uint32_t, std::string, std::uint64_t>, std::int64_t> known;
  for (DeviceChoice& choice : choices) {
    const GpuFree& gpu = *choice.gpu;
    const auto [it, is_new] = known.try_emplace({gpu.milli_free, gpu.type, gpu.memory_mib}, 0);
    if (is_new) {
      const auto index = static_cast<std::size_t>(&gpu - node.gpus.data());
      it->second = ledger.fragments().cost_on_gpu(ledger.books(), group, node, index);
    }
    choice.cost = it->second;
  }
}

// A lot of each socket that has one, from those that are left fullest first. Choices come best
// first.
void keep_lots(std::uint32_t wanted, std::uint32_t lot, std::vector<DeviceChoice>& choices) {
  std::map<std::uint32_t, std::uint32_t> on;
  for (const DeviceChoice& choice : choices) ++on[choice.gpu->socket];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sockets;  // Free there, socket.
  for (const auto& [socket, free] : on) {
    if (free >= lot) sockets.emplace_back(free, socket);
  }
  std::sort(sockets.begin(), sockets.end());
  sockets.resize(wanted / lot);
  std::map<std::uint32_t, std::uint32_t> left;
  for (const auto& [free, socket] : sockets) left[socket] = lot;
  std::erase_if(choices, [&](const DeviceChoice& choice) {
    const auto found = left.find(choice.gpu->socket);
    if (found == left.end() || found->second == 0) return true;
    --found->second;
    return false;
  });
}

// Devices by preference: the type wanted most, then the clique that holds all of them and is left
// fullest, then what leaves the node worth most, then GPUs already shared, then the lowest index.
std::vector<Grant> choose_devices(const Ledger& ledger, const Group& group, const NodeFree& node) {
  std::map<std::uint32_t, std::uint32_t> in_clique;
  for (const GpuFree& gpu : node.gpus) {
    if (free_enough(group, gpu)) ++in_clique[gpu.clique];
  }
  const auto clique_rank = [&](std::uint32_t clique) {
    const std::uint32_t free = in_clique[clique];
    const bool holds_all = free >= group.gpus_per_node;
    return std::make_pair(holds_all ? 0 : 1, holds_all ? free : ~free);
  };
  std::vector<DeviceChoice> choices;
  for (const GpuFree& gpu : node.gpus) {
    if (free_enough(group, gpu))
      choices.push_back({type_rank(group, gpu.type), clique_rank(gpu.clique), 0, &gpu});
  }
  if (group.one_clique) {
    std::erase_if(choices,
                  [](const DeviceChoice& choice) { return choice.clique_rank.first != 0; });
    for (DeviceChoice& choice : choices) choice.type_rank = 0;  // No cliques mixed for a type.
  }
  MUSTER_ASSERT(choices.size() >= group.gpus_per_node);
  weigh_shares(ledger, group, node, choices);
  std::sort(choices.begin(), choices.end(), is_better);
  if (group.gpus_per_socket != 0) keep_lots(group.gpus_per_node, group.gpus_per_socket, choices);
  choices.resize(group.gpus_per_node);
  std::sort(choices.begin(), choices.end(), [](const DeviceChoice& a, const DeviceChoice& b) {
    return a.gpu->index < b.gpu->index;
  });
  std::vector<Grant> grants;
  for (const DeviceChoice& choice : choices) {
    const GpuFree& gpu = *choice.gpu;
    const std::uint64_t memory = gpu.memory_mib * group.gpu_milli / kMilliPerGpu;
    grants.push_back(Grant{gpu.device, group.gpu_milli, memory, ""});
  }
  return grants;
}

// Of a node that nobody is on.
std::vector<Grant> all_devices(const NodeFree& node) {
  std::vector<Grant> grants;
  for (const GpuFree& gpu : node.gpus) {
    if (gpu.is_whole()) grants.push_back(Grant{gpu.device, kMilliPerGpu, gpu.memory_mib, ""});
  }
  return grants;
}

// Collects nodes for one group in order of preference, until it has enough.
class Search {
 public:
  Search(const Present& present, const PlaceRequest& request, const GroupNeed& need,
         const std::set<NodeId>& taken)
      : present_(present), request_(request), ledger_(present.ledger), need_(need), taken_(taken) {}

  bool met_a_booking() const { return held_; }
  std::uint32_t looked_at() const { return looked_at_; }

  // group is the need's own, or that with fewer types.
  std::vector<NodeId> run(const Group& group) {
    group_ = &group;
    found_.clear();
    is_known_fit_ = false;
    if (request_.planned != nullptr)
      by_name(*request_.planned);
    else if (need_.is_confined)
      by_name(need_.only);
    else if (group.nodes_max > 1 && !topology().is_empty())
      by_nearness();
    else
      by_worth();
    if (found_.size() < group.nodes_min) found_.clear();
    return found_;
  }

  // All that would do, the fullest first.
  std::vector<NodeId> every(const Group& group) {
    group_ = &group;
    found_.clear();
    is_known_fit_ = false;
    look_at_all();
    return found_;
  }

 private:
  const Topology& topology() const { return ledger_.topology(present_.cluster); }

  // At none when the index says that too few have so many GPUs free.
  void look_at_all() {
    const std::vector<ClassId> classes = able_classes();
    if (nodes_from(classes, gpus_at_least()) < group_->nodes_min) return;
    std::vector<bool> able(ledger_.classes().size());
    for (const ClassId id : classes) able[id] = true;
    for (const NodeFree& node : ledger_.nodes()) {
      if (node.usable() && able[node.node_class]) look_at(node);
    }
    std::sort(found_.begin(), found_.end(),
              [&](NodeId a, NodeId b) { return fullness(a) < fullness(b); });
  }

  // Of all that would do what hangs on the fewest switches.
  void by_nearness() {
    look_at_all();
    const std::size_t wanted = std::min<std::size_t>(group_->nodes_max, found_.size());
    if (wanted >= group_->nodes_min) found_ = pick_near(topology(), found_, wanted);
  }

  std::tuple<std::uint32_t, std::uint32_t, NodeId> fullness(NodeId id) const {
    const NodeFree& node = *ledger_.find_node(id);
    return {node.gpus_whole, node.cpus_free(), id};
  }

  bool enough() const { return found_.size() == group_->nodes_max; }

  // A node whose class could hold a member.
  void look_at(const NodeFree& node) {
    ++looked_at_;
    if (taken_.count(node.id) != 0 || !is_named(need_, node.id)) return;
    if (!is_known_fit_ && walked_.count(node.id) != 0) return;
    if (is_known_fit_ && !group_->exclusive && !wants_gpus_together(*group_)) {
      if (request_.avoided.count(node.id) != 0) return;
      if (node.memory_mib_free() < memory_needed(*group_, node)) return;
    } else if (failed_now(*group_, node, request_.avoided) != Constraint::kFits) {
      return;
    }
    if (request_.keeps_windows &&
        !present_.calendar->allows(node.id, request_.terms, present_.now)) {
      held_ = true;
      return;
    }
    if (request_.backfill != nullptr &&
        !request_.backfill->allows(present_, *group_, node, request_.end, request_.element)) {
      held_ = true;
      return;
    }
    found_.push_back(node.id);
  }

  // The nodes named, fullest first as well.
  void by_name(const std::set<NodeId>& names) {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, NodeId>> order;
    for (const NodeId id : names) {
      const NodeFree* node = ledger_.find_node(id);
      if (node == nullptr) continue;
      const NodeClass& node_class = ledger_.classes()[node->node_class];
      if (!in_queue(need_, node_class)) continue;
      if (idle_failed(*group_, node_class) != Constraint::kFits) continue;
      order.emplace_back(node->gpus_whole, node->cpus_free(), id);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [gpus, cpus, id] : order) {
      if (enough()) return;
      look_at(*ledger_.find_node(id));
    }
  }

  // What could hold a member, least cost to the jobs to come first.
  void by_worth() {
    const std::vector<ClassId> classes = able_classes();
    const std::size_t first = gpus_at_least();
    if (nodes_from(classes, first) < group_->nodes_min) return;
    Fragments::Walk walk =
        ledger_.fragments().walk(ledger_.books(), ask_of(need_.queue, *group_), classes);
    looked_at_ += walk.weighed();
    is_known_fit_ = true;
    while (!enough()) {
      const std::optional<NodeId> node = walk.next();
      if (!node) break;
      if (walk.is_partial()) walked_.insert(*node);
      look_at(*ledger_.find_node(*node));
    }
    is_known_fit_ = false;
    if (walk.is_partial() && !enough()) by_index(classes, first);
    walked_.clear();
  }

  // Whole free ones that a node must have.
  std::size_t gpus_at_least() const {
    return group_->gpu_milli == kMilliPerGpu ? group_->gpus_per_node : 0;
  }

  std::vector<ClassId> able_classes() const {
    std::vector<ClassId> able;
    const std::vector<NodeClass>& classes = ledger_.classes();
    for (ClassId id = 0; id < classes.size(); ++id) {
      if (in_queue(need_, classes[id]) && idle_failed(*group_, classes[id]) == Constraint::kFits)
        able.push_back(id);
    }
    return able;
  }

  // Nodes that were too many to be weighed, the fullest first.
  void by_index(const std::vector<ClassId>& classes, std::size_t first) {
    std::size_t buckets = 0;
    for (const ClassId id : classes)
      buckets = std::max(buckets, ledger_.classes()[id].by_gpus.size());
    for (std::size_t gpus = first; gpus < buckets; ++gpus) {
      for (const ClassId id : classes) {
        const NodeClass& node_class = ledger_.classes()[id];
        if (gpus < node_class.by_gpus.size()) scan(node_class.by_gpus[gpus]);
        if (enough()) return;
      }
    }
  }

  std::size_t nodes_from(const std::vector<ClassId>& classes, std::size_t gpus) const {
    std::size_t nodes = 0;
    for (const ClassId id : classes) {
      const NodeClass& node_class = ledger_.classes()[id];
      for (std::size_t i = gpus; i < node_class.by_gpus.size(); ++i)
        nodes += node_class.by_gpus[i].size();
    }
    return nodes;
  }

  void scan(const std::set<std::pair<std::uint32_t, NodeId>>& bucket) {
    auto it = bucket.lower_bound({group_->cpus_per_node, NodeId{0}});
    for (; it != bucket.end() && !enough(); ++it) look_at(*ledger_.find_node(it->second));
  }

  const Present& present_;
  const PlaceRequest& request_;
  const Ledger& ledger_;
  const GroupNeed& need_;
  const std::set<NodeId>& taken_;
  const Group* group_ = nullptr;
  bool held_ = false;
  bool is_known_fit_ = false;  // GPUs and CPUs are known to do from where the node stands.
  std::uint32_t looked_at_ = 0;
  std::set<NodeId> walked_;  // By worth; not to be looked at again by index.
  std::vector<NodeId> found_;
};

// Types to try alone before mixing them: a gang over equal GPUs runs at the speed of all of them.
std::vector<std::string> types_to_try(const Ledger& ledger, const Group& group) {
  if (group.gpus_per_node == 0) return {};
  if (group.gpu_types.size() > 1 && !group.gpu_types_alike) return group.gpu_types;
  if (group.gpu_types_alike && group.nodes_max > 1) return group.gpu_types;
  if (!group.gpu_types.empty() || group.nodes_max == 1) return {};
  std::set<std::string> types;
  for (const NodeClass& node_class : ledger.classes()) {
    for (const auto& gpu : node_class.traits.gpus) types.insert(gpu.first);
  }
  if (types.size() < 2) return {};
  return {types.begin(), types.end()};
}

void add_members(std::vector<Member>& members, const Ledger& ledger, const Group& group,
                 std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  for (const NodeId id : nodes) {
    const NodeFree& node = *ledger.find_node(id);
    Member member;
    member.node = id;
    member.tasks = group.tasks_per_node;
    // What began before cores were known may have left half of one.
    member.cpus =
        std::min(cpus_needed(group, node), std::max(node.cpus_free(), group.cpus_per_node));
    member.memory_mib = memory_needed(group, node);
    member.grants = group.exclusive ? all_devices(node) : choose_devices(ledger, group, node);
    members.push_back(std::move(member));
  }
}

// Empty when the group does not fit.
std::vector<Member> members_for(const Ledger& ledger, Search& search, const Group& group) {
  std::vector<Member> members;
  for (const std::string& type : types_to_try(ledger, group)) {
    Group narrowed = group;
    narrowed.gpu_types = {type};
    const std::vector<NodeId> found = search.run(narrowed);
    if (found.empty()) continue;
    add_members(members, ledger, narrowed, found);
    return members;
  }
  add_members(members, ledger, group, search.run(group));
  return members;
}

// The groups by how few nodes could ever serve them: the others choose among what is left.
std::vector<std::uint32_t> scarcest_first(const Cluster& cluster, const Ledger& ledger,
                                          const QueueConfig& queue,
                                          const std::vector<Group>& groups) {
  if (groups.size() == 1) return {0};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (const Group& group : groups) {
    const GroupNeed need = need_of(cluster, queue, group);
    std::uint32_t able = 0;
    for (const NodeClass& node_class : ledger.classes()) {
      const bool serves =
          in_queue(need, node_class) && idle_failed(group, node_class) == Constraint::kFits;
      able += serves ? node_class.nodes : 0;
    }
    if (!need.only.empty()) able = static_cast<std::uint32_t>(need.only.size());
    order.emplace_back(able, static_cast<std::uint32_t>(order.size()));
  }
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> indices;
  for (const auto& [able, index] : order) indices.push_back(index);
  return indices;
}

}  // namespace

GroupNeed need_of(const Cluster& cluster, const QueueConfig& queue, const Group& group) {
  GroupNeed need;
  need.group = &group;
  need.queue = queue.name;
  need.queue_listed = !queue.nodes.empty();
  need.is_confined = !group.nodes_only.empty();
  for (const std::string& name : group.nodes_only) {
    if (const Node* node = cluster.find_node(name)) need.only.insert(node->id);
  }
  for (const std::string& name : group.nodes_excluded) {
    if (const Node* node = cluster.find_node(name)) need.excluded.insert(node->id);
  }
  return need;
}

std::uint32_t cpus_needed(const Group& group, const NodeFree& node) {
  if (group.exclusive) return node.cpus_total;
  // Whole cores: the other threads of a core are nobody else's.
  const std::uint32_t cores = (group.cpus_per_node + node.cpus_per_core - 1) / node.cpus_per_core;
  return std::min(cores * node.cpus_per_core, std::max(node.cpus_total, group.cpus_per_node));
}

void confine(GroupNeed& need, const std::vector<NodeId>* nodes) {
  if (nodes == nullptr) return;
  std::set<NodeId> both;
  for (const NodeId node : *nodes) {
    if (!need.is_confined || need.only.count(node) != 0) both.insert(node);
  }
  need.only = std::move(both);
  need.is_confined = true;
}

std::uint64_t memory_needed(const Group& group, const NodeFree& node) {
  return memory_share(group, node.cpus_total, node.memory_mib_total, node.gpus.size());
}

std::uint64_t memory_needed(const Group& group, const NodeClass& node_class,
                            std::uint64_t memory_mib_total) {
  const NodeTraits& traits = node_class.traits;
  return memory_share(group, traits.cpus, memory_mib_total, traits.gpus.size());
}

std::size_t type_rank(const Group& group, const std::string& type) {
  const auto found = std::find(group.gpu_types.begin(), group.gpu_types.end(), type);
  const auto rank = static_cast<std::size_t>(found - group.gpu_types.begin());
  return group.gpu_types_alike && rank < group.gpu_types.size() ? 0 : rank;
}

bool gpu_accepted(const Group& group, const std::string& type, std::uint64_t memory_mib) {
  if (memory_mib < group.gpu_memory_mib_min) return false;
  return group.gpu_types.empty() || type_rank(group, type) < group.gpu_types.size();
}

std::uint32_t gpus_free_for(const Group& group, const NodeFree& node) {
  GpuTally tally(group);
  for (const GpuFree& gpu : node.gpus) {
    if (free_enough(group, gpu)) tally.add(gpu.clique, gpu.socket);
  }
  return tally.count();
}

void GpuTally::add(std::uint32_t clique, std::uint32_t socket) {
  if (group_.one_clique)
    count_ = std::max(count_, ++in_[clique]);
  else if (group_.gpus_per_socket == 0)
    ++count_;
  else if (++in_[socket] == group_.gpus_per_socket)
    count_ += group_.gpus_per_socket;
}

bool is_named(const GroupNeed& need, NodeId node) {
  if (need.is_confined && need.only.count(node) == 0) return false;
  return need.excluded.count(node) == 0;
}

bool in_queue(const GroupNeed& need, const NodeClass& node_class) {
  if (!need.queue_listed) return true;
  const auto& queues = node_class.traits.queues;
  return std::binary_search(queues.begin(), queues.end(), need.queue);
}

Constraint idle_failed(const Group& group, const NodeClass& node_class) {
  const NodeTraits& traits = node_class.traits;
  if (!has_features(group, traits)) return Constraint::kFeatures;
  if (gpus_total_for(group, traits) < group.gpus_per_node) return Constraint::kGpusTotal;
  if (wants_gpus_together(group) && together_total_for(group, traits) < group.gpus_per_node)
    return Constraint::kTogetherTotal;
  return traits.cpus < group.cpus_per_node ? Constraint::kCpusTotal : Constraint::kFits;
}

Constraint first_failed(const GroupNeed& need, const NodeFree& node, const NodeClass& node_class,
                        const std::set<NodeId>& avoided) {
  const Group& group = *need.group;
  if (!is_named(need, node.id)) return Constraint::kNamed;
  if (!node.reported) return Constraint::kUp;
  const Constraint idle = idle_failed(group, node_class);
  if (idle != Constraint::kFits) return idle;
  if (node.memory_mib_total < memory_needed(group, node)) return Constraint::kMemoryTotal;
  return failed_now(group, node, avoided);
}

Constraint failed_now(const Group& group, const NodeFree& node, const std::set<NodeId>& avoided) {
  if (!node.usable()) return Constraint::kUp;
  if (avoided.count(node.id) != 0) return Constraint::kAvoided;
  if (group.exclusive && !node.is_idle()) return Constraint::kAlone;
  if (gpus_free_for(group, node) < group.gpus_per_node)
    return wants_gpus_together(group) ? Constraint::kTogetherFree : Constraint::kGpusFree;
  if (node.cpus_free() < group.cpus_per_node) return Constraint::kCpusFree;
  if (node.memory_mib_free() < memory_needed(group, node)) return Constraint::kMemoryFree;
  return Constraint::kFits;
}

namespace {

// Ranks follow the topology: neighbours in rank are near to one another.
void sort_by_topology(const Topology& topology, std::vector<Member>& members) {
  const auto order = [&](const Member& member) {
    return std::make_tuple(member.group, topology.position(member.node), member.node);
  };
  std::sort(members.begin(), members.end(),
            [&](const Member& a, const Member& b) { return order(a) < order(b); });
}

std::optional<Place> place_all(const Present& present, const PlaceRequest& request,
                               PlaceFailure* failure) {
  const std::vector<Group>& groups = request.terms.groups;
  const QueueConfig* queue = present.cluster.find_queue(request.terms.queue);
  if (queue == nullptr) return std::nullopt;
  Place place;
  std::set<NodeId> taken;
  for (const std::uint32_t i : scarcest_first(present.cluster, present.ledger, *queue, groups)) {
    GroupNeed need = need_of(present.cluster, *queue, groups[i]);
    confine(need, present.calendar->confines(request.terms));
    Search search(present, request, need, taken);
    std::vector<Member> members = members_for(present.ledger, search, groups[i]);
    if (members.empty()) {
      if (failure != nullptr) {
        failure->group = {i, std::move(taken)};
        failure->held = search.met_a_booking();
        failure->nodes_looked_at += search.looked_at();
      }
      return std::nullopt;
    }
    if (failure != nullptr) failure->nodes_looked_at += search.looked_at();
    for (Member& member : members) {
      member.group = i;
      taken.insert(member.node);
      place.members.push_back(std::move(member));
    }
  }
  sort_by_topology(present.ledger.topology(present.cluster), place.members);
  std::uint32_t rank = 0;
  for (Member& member : place.members) {
    member.rank_first = rank;
    rank += member.tasks;
  }
  return place;
}

}  // namespace

namespace {

constexpr std::size_t kNearSetsTried = 64;

std::vector<NodeId> nodes_of(const Place& place) {
  std::vector<NodeId> nodes;
  for (const Member& member : place.members) nodes.push_back(member.node);
  return nodes;
}

// As near together as is wished.
std::optional<Place> place_near(const Present& present, const PlaceRequest& request,
                                PlaceFailure* failure) {
  const Topology& topology = present.ledger.topology(present.cluster);
  const TopologyWish& wish = request.terms.topology;
  if (topology.is_empty()) return std::nullopt;
  const auto sets = near_sets(topology, wish, fitting_nodes(present, request, failure),
                              nodes_wanted(request.terms.groups), kNearSetsTried);
  for (const std::vector<NodeId>& nodes : sets) {
    const std::set<NodeId> within(nodes.begin(), nodes.end());
    PlaceRequest there = request;
    there.planned = &within;
    std::optional<Place> place = place_all(present, there, nullptr);
    if (place && is_near(topology, wish, nodes_of(*place))) return place;
  }
  return std::nullopt;
}

// Where its start was planned, unless there it could not become as large as it may.
std::optional<Place> place_as_planned(const Present& present, const PlaceRequest& request) {
  if (request.planned == nullptr) return std::nullopt;
  for (const Group& group : request.terms.groups) {
    if (group.nodes_max != group.nodes_min) return std::nullopt;
  }
  std::optional<Place> place = place_all(present, request, nullptr);
  const TopologyWish& wish = request.terms.topology;
  if (!place || wish.kind == TopologyKind::kAny) return place;
  const Topology& topology = present.ledger.topology(present.cluster);
  return is_near(topology, wish, nodes_of(*place)) ? place : std::nullopt;
}

}  // namespace

std::uint32_t nodes_wanted(const std::vector<Group>& groups) {
  std::uint32_t nodes = 0;
  for (const Group& group : groups) nodes += group.nodes_min;
  return nodes;
}

std::vector<NodeId> able_nodes(const Cluster& cluster, const Ledger& ledger,
                               const QueueConfig& queue, const std::vector<Group>& groups,
                               bool usable) {
  std::set<NodeId> all;
  for (const Group& group : groups) {
    const GroupNeed need = need_of(cluster, queue, group);
    for (const NodeFree& node : ledger.nodes()) {
      if (!node.exists || (usable && !node.usable())) continue;
      const NodeClass& node_class = ledger.classes()[node.node_class];
      if (!in_queue(need, node_class)) continue;
      if (first_failed(need, node, node_class, {}) > Constraint::kMemoryTotal) all.insert(node.id);
    }
  }
  return {all.begin(), all.end()};
}

std::vector<NodeId> fitting_nodes(const Present& present, const PlaceRequest& request,
                                  PlaceFailure* failure) {
  const QueueConfig* queue = present.cluster.find_queue(request.terms.queue);
  if (queue == nullptr) return {};
  PlaceRequest anywhere = request;
  anywhere.planned = nullptr;
  const std::set<NodeId> taken;
  std::vector<NodeId> all;
  std::set<NodeId> seen;
  for (const Group& group : request.terms.groups) {
    const GroupNeed need = need_of(present.cluster, *queue, group);
    Search search(present, anywhere, need, taken);
    for (const NodeId node : search.every(group)) {
      if (seen.insert(node).second) all.push_back(node);
    }
    if (failure == nullptr) continue;
    failure->nodes_looked_at += search.looked_at();
    failure->held = failure->held || search.met_a_booking();
  }
  return all;
}

std::optional<Place> find_place(const Present& present, const PlaceRequest& request,
                                PlaceFailure* failure) {
  if (std::optional<Place> place = place_as_planned(present, request)) return place;
  PlaceRequest anywhere = request;
  anywhere.planned = nullptr;
  const TopologyWish& wish = request.terms.topology;
  if (wish.kind == TopologyKind::kAny) return place_all(present, anywhere, failure);
  if (std::optional<Place> place = place_near(present, anywhere, failure)) return place;
  if (!wish.required) return place_all(present, anywhere, failure);
  const bool fits = place_all(present, anywhere, failure).has_value();
  if (failure != nullptr && fits) failure->scattered = true;
  return std::nullopt;
}

}  // namespace muster
