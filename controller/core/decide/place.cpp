// Choosing nodes and devices: best fit over the ledger's indexes.
#include "controller/core/decide/place.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster {
namespace {

bool has_features(const Group& group, const NodeTraits& traits) {
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

std::uint64_t memory_share(const Group& group, std::uint32_t cpus, std::uint64_t memory_mib,
                           std::size_t gpus) {
  if (group.memory_mib_per_node != 0) return group.memory_mib_per_node;
  if (group.gpus_per_node != 0 && gpus != 0) {
    const std::uint64_t milli = std::uint64_t{group.gpus_per_node} * group.gpu_milli;
    return memory_mib * milli / (std::uint64_t{gpus} * kMilliPerGpu);
  }
  return cpus == 0 ? 0 : memory_mib * group.cpus_per_node / cpus;
}

std::size_t type_rank(const Group& group, const std::string& type) {
  const auto found = std::find(group.gpu_types.begin(), group.gpu_types.end(), type);
  return static_cast<std::size_t>(found - group.gpu_types.begin());
}

bool free_enough(const Group& group, const GpuFree& gpu) {
  return gpu.ready && gpu.milli_free >= group.gpu_milli &&
         gpu_accepted(group, gpu.type, gpu.memory_mib);
}

// Devices by preference: the type wanted most, then the clique that holds all of them and is left
// fullest, then GPUs already shared, then the lowest index.
std::vector<Grant> choose_devices(const Group& group, const NodeFree& node) {
  std::map<std::uint32_t, std::uint32_t> in_clique;
  for (const GpuFree& gpu : node.gpus) {
    if (free_enough(group, gpu)) ++in_clique[gpu.clique];
  }
  const auto clique_rank = [&](std::uint32_t clique) {
    const std::uint32_t free = in_clique[clique];
    const bool holds_all = free >= group.gpus_per_node;
    return std::make_pair(holds_all ? 0 : 1, holds_all ? free : ~free);
  };
  using Choice = std::tuple<std::size_t, std::pair<int, std::uint32_t>, std::uint32_t,
                            std::uint32_t, std::uint32_t, const GpuFree*>;
  std::vector<Choice> choices;
  for (const GpuFree& gpu : node.gpus) {
    if (!free_enough(group, gpu)) continue;
    choices.emplace_back(type_rank(group, gpu.type), clique_rank(gpu.clique), gpu.clique,
                         gpu.milli_free, gpu.index, &gpu);
  }
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a), std::get<3>(a),
                    std::get<4>(a)) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b), std::get<3>(b), std::get<4>(b));
  });
  MUSTER_ASSERT(choices.size() >= group.gpus_per_node);
  choices.resize(group.gpus_per_node);
  std::sort(choices.begin(), choices.end(),
            [](const Choice& a, const Choice& b) { return std::get<4>(a) < std::get<4>(b); });
  std::vector<Grant> grants;
  for (const Choice& choice : choices) {
    const GpuFree& gpu = *std::get<5>(choice);
    const std::uint64_t memory = gpu.memory_mib * group.gpu_milli / kMilliPerGpu;
    grants.push_back(Grant{gpu.device, group.gpu_milli, memory, ""});
  }
  return grants;
}

// Collects nodes for one group in order of preference, until it has enough.
class Search {
 public:
  Search(const Ledger& ledger, const GroupNeed& need, const std::set<NodeId>& avoided,
         const std::set<NodeId>& taken)
      : ledger_(ledger), need_(need), avoided_(avoided), taken_(taken) {}

  // group is the need's own, or that with fewer types.
  std::vector<NodeId> run(const Group& group) {
    group_ = &group;
    found_.clear();
    if (!group.nodes_only.empty())
      by_name();
    else
      by_index();
    if (found_.size() < group.nodes_min) found_.clear();
    return found_;
  }

 private:
  bool enough() const { return found_.size() == group_->nodes_max; }

  // A node whose class could hold a member.
  void look_at(const NodeFree& node) {
    if (taken_.count(node.id) != 0 || need_.excluded.count(node.id) != 0) return;
    if (failed_now(*group_, node, avoided_) == Constraint::kFits) found_.push_back(node.id);
  }

  // The nodes asked for, fullest first as well.
  void by_name() {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, NodeId>> order;
    for (const NodeId id : need_.only) {
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

  void by_index() {
    std::vector<const NodeClass*> classes;
    std::size_t buckets = 0;
    for (const NodeClass& node_class : ledger_.classes()) {
      if (!in_queue(need_, node_class)) continue;
      if (idle_failed(*group_, node_class) != Constraint::kFits) continue;
      classes.push_back(&node_class);
      buckets = std::max(buckets, node_class.by_gpus.size());
    }
    // Nodes without GPUs serve first what needs none.
    std::stable_sort(classes.begin(), classes.end(), [](const NodeClass* a, const NodeClass* b) {
      return a->by_gpus.size() < b->by_gpus.size();
    });
    const bool whole = group_->gpu_milli == kMilliPerGpu;
    for (std::size_t gpus = whole ? group_->gpus_per_node : 0; gpus < buckets; ++gpus) {
      for (const NodeClass* node_class : classes) {
        if (gpus < node_class->by_gpus.size()) scan(node_class->by_gpus[gpus]);
        if (enough()) return;
      }
    }
  }

  void scan(const std::set<std::pair<std::uint32_t, NodeId>>& bucket) {
    auto it = bucket.lower_bound({group_->cpus_per_node, NodeId{0}});
    for (; it != bucket.end() && !enough(); ++it) look_at(*ledger_.find_node(it->second));
  }

  const Ledger& ledger_;
  const GroupNeed& need_;
  const std::set<NodeId>& avoided_;
  const std::set<NodeId>& taken_;
  const Group* group_ = nullptr;
  std::vector<NodeId> found_;
};

// Types to try alone before mixing them: a gang over equal GPUs runs at the speed of all of them.
std::vector<std::string> types_to_try(const Ledger& ledger, const Group& group) {
  if (group.gpus_per_node == 0) return {};
  if (group.gpu_types.size() > 1) return group.gpu_types;
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
    member.cpus = group.cpus_per_node;
    member.memory_mib = memory_needed(group, node);
    member.grants = choose_devices(group, node);
    members.push_back(std::move(member));
  }
}

// Empty when the group does not fit.
std::vector<Member> members_for(const Ledger& ledger, const GroupNeed& need,
                                const std::set<NodeId>& avoided, const std::set<NodeId>& taken) {
  std::vector<Member> members;
  Search search(ledger, need, avoided, taken);
  for (const std::string& type : types_to_try(ledger, *need.group)) {
    Group narrowed = *need.group;
    narrowed.gpu_types = {type};
    const std::vector<NodeId> found = search.run(narrowed);
    if (found.empty()) continue;
    add_members(members, ledger, narrowed, found);
    return members;
  }
  add_members(members, ledger, *need.group, search.run(*need.group));
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
  for (const std::string& name : group.nodes_only) {
    if (const Node* node = cluster.find_node(name)) need.only.insert(node->id);
  }
  for (const std::string& name : group.nodes_excluded) {
    if (const Node* node = cluster.find_node(name)) need.excluded.insert(node->id);
  }
  return need;
}

std::uint64_t memory_needed(const Group& group, const NodeFree& node) {
  return memory_share(group, node.cpus_total, node.memory_mib_total, node.gpus.size());
}

bool gpu_accepted(const Group& group, const std::string& type, std::uint64_t memory_mib) {
  if (memory_mib < group.gpu_memory_mib_min) return false;
  return group.gpu_types.empty() || type_rank(group, type) < group.gpu_types.size();
}

std::uint32_t gpus_free_for(const Group& group, const NodeFree& node) {
  std::uint32_t count = 0;
  for (const GpuFree& gpu : node.gpus) count += free_enough(group, gpu) ? 1U : 0U;
  return count;
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
  return traits.cpus < group.cpus_per_node ? Constraint::kCpusTotal : Constraint::kFits;
}

Constraint first_failed(const GroupNeed& need, const NodeFree& node, const NodeClass& node_class,
                        const std::set<NodeId>& avoided) {
  const Group& group = *need.group;
  if (!group.nodes_only.empty() && need.only.count(node.id) == 0) return Constraint::kNamed;
  if (need.excluded.count(node.id) != 0) return Constraint::kNamed;
  if (!node.reported) return Constraint::kUp;
  const Constraint idle = idle_failed(group, node_class);
  if (idle != Constraint::kFits) return idle;
  if (node.memory_mib_total < memory_needed(group, node)) return Constraint::kMemoryTotal;
  return failed_now(group, node, avoided);
}

Constraint failed_now(const Group& group, const NodeFree& node, const std::set<NodeId>& avoided) {
  if (!node.usable()) return Constraint::kUp;
  if (avoided.count(node.id) != 0) return Constraint::kAvoided;
  if (gpus_free_for(group, node) < group.gpus_per_node) return Constraint::kGpusFree;
  if (node.cpus_free() < group.cpus_per_node) return Constraint::kCpusFree;
  if (node.memory_mib_free() < memory_needed(group, node)) return Constraint::kMemoryFree;
  return Constraint::kFits;
}

std::optional<Place> find_place(const Cluster& cluster, const Ledger& ledger, const JobTerms& terms,
                                const std::set<NodeId>& avoided, GroupFailure* failure) {
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  if (queue == nullptr) return std::nullopt;
  Place place;
  std::set<NodeId> taken;
  for (const std::uint32_t i : scarcest_first(cluster, ledger, *queue, terms.groups)) {
    const Group& group = terms.groups[i];
    const GroupNeed need = need_of(cluster, *queue, group);
    std::vector<Member> members = members_for(ledger, need, avoided, taken);
    if (members.empty()) {
      if (failure != nullptr) *failure = GroupFailure{i, std::move(taken)};
      return std::nullopt;
    }
    for (Member& member : members) {
      member.group = i;
      taken.insert(member.node);
      place.members.push_back(std::move(member));
    }
  }
  std::stable_sort(place.members.begin(), place.members.end(),
                   [](const Member& a, const Member& b) { return a.group < b.group; });
  std::uint32_t rank = 0;
  for (Member& member : place.members) {
    member.rank_first = rank;
    rank += member.tasks;
  }
  return place;
}

}  // namespace muster
