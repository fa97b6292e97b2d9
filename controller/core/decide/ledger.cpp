// Keeping the books of free capacity.
#include "controller/core/decide/ledger.h"

#include <algorithm>

namespace muster {

void Ledger::rebuild(const Cluster& cluster) {
  std::set<NodeId> connected;
  for (const NodeFree& node : nodes_) {
    if (node.exists && node.connected) connected.insert(node.id);
  }
  nodes_.clear();
  classes_.clear();
  class_ids_.clear();
  std::set<std::string> queues_listed;
  for (const QueueConfig& queue : cluster.config().queues) {
    if (!queue.nodes.empty()) queues_listed.insert(queue.name);
  }
  fragments_.clear(std::move(queues_listed));
  arrivals_.clear();
  topology_.reset();
  for (const auto& [id, node] : cluster.nodes()) {
    node_at(id).connected = connected.count(id) != 0;
    refresh_node(cluster, id);
  }
  count_arrivals(cluster);
  ++generation_;
}

// The newest ones that are in memory.
void Ledger::count_arrivals(const Cluster& cluster) {
  const auto& jobs = cluster.jobs();
  auto from = jobs.end();
  for (std::size_t i = 0; i < kMixJobs + kMixEvery && from != jobs.begin(); ++i) --from;
  for (; from != jobs.end(); ++from) note_arrival(from->first, from->second.facts().terms);
  arrivals_.advance_to(JobId{cluster.job_next().value - 1});
}

void Ledger::note_arrival(JobId id, const std::shared_ptr<const JobTerms>& terms) {
  arrivals_.note(id, terms);
}

NodeFree& Ledger::node_at(NodeId id) {
  if (id.value >= nodes_.size()) nodes_.resize(id.value + 1);
  return nodes_[id.value];
}

const NodeFree* Ledger::find_node(NodeId id) const {
  if (id.value >= nodes_.size() || !nodes_[id.value].exists) return nullptr;
  return &nodes_[id.value];
}

ClassId Ledger::class_of(const Cluster& cluster, const Node& node) {
  NodeTraits traits;
  for (const GpuFacts& gpu : node.inventory.gpus)
    traits.gpus.emplace_back(gpu.type, gpu.memory_mib);
  for (const GpuFacts& gpu : node.inventory.gpus) {
    traits.cliques.push_back(gpu.clique);
    traits.sockets.push_back(gpu.numa_node);
  }
  traits.features = node.inventory.features;
  std::sort(traits.features.begin(), traits.features.end());
  for (const QueueConfig& queue : cluster.config().queues) {
    if (std::find(queue.nodes.begin(), queue.nodes.end(), node.name) == queue.nodes.end()) continue;
    traits.queues.push_back(queue.name);
  }
  std::sort(traits.queues.begin(), traits.queues.end());
  traits.cpus = node.inventory.cpus;
  const auto [it, is_new] = class_ids_.try_emplace(traits, static_cast<ClassId>(classes_.size()));
  if (is_new) {
    NodeClass added;
    added.traits = std::move(traits);
    added.by_gpus.resize(node.inventory.gpus.size() + 1);
    classes_.push_back(std::move(added));
  }
  return it->second;
}

void Ledger::index(const NodeFree& node) {
  fragments_.touch(node.id);
  if (!node.usable()) return;
  classes_[node.node_class].by_gpus[node.gpus_whole].emplace(node.cpus_free(), node.id);
}

void Ledger::unindex(const NodeFree& node) {
  fragments_.touch(node.id);
  if (!node.usable()) return;
  classes_[node.node_class].by_gpus[node.gpus_whole].erase({node.cpus_free(), node.id});
}

void Ledger::leave_class(const NodeFree& node) {
  NodeClass& node_class = classes_[node.node_class];
  --node_class.nodes;
  const auto memory = node_class.memories.find(node.memory_mib_total);
  if (--memory->second == 0) node_class.memories.erase(memory);
}

const Topology& Ledger::topology(const Cluster& cluster) const {
  if (!topology_) topology_.emplace(cluster);
  return *topology_;
}

// Its place in the topology may be another now.
void Ledger::note_switch(NodeId id, const Node* facts) {
  if (id.value >= switches_.size()) switches_.resize(id.value + 1);
  const std::string reported = facts == nullptr ? "" : facts->inventory.switch_name;
  if (nodes_[id.value].exists == (facts != nullptr) && switches_[id.value] == reported) return;
  switches_[id.value] = reported;
  topology_.reset();
}

void Ledger::refresh_node(const Cluster& cluster, NodeId id) {
  NodeFree& node = node_at(id);
  unindex(node);
  if (node.exists) leave_class(node);
  const bool connected = node.connected;
  const Node* facts = cluster.find_node(id);
  note_switch(id, facts);
  node = NodeFree{};
  ++generation_;
  if (facts == nullptr) return;
  node.id = id;
  node.exists = true;
  node.reported = facts->has_reported();
  node.up = facts->takes_work();
  node.connected = connected;
  node.node_class = class_of(cluster, *facts);
  node.cpus_total = facts->inventory.cpus;
  node.cpus_per_core = std::max(1U, facts->inventory.cpus_per_core);
  node.memory_mib_total = facts->inventory.memory_mib;
  for (std::size_t i = 0; i < facts->inventory.gpus.size(); ++i) {
    const GpuFacts& gpu = facts->inventory.gpus[i];
    node.gpus.push_back(GpuFree{facts->device_ids[i], gpu.index, gpu.clique, gpu.numa_node,
                                gpu.memory_mib, gpu.type, gpu.state == DeviceState::kReady,
                                kMilliPerGpu});
    if (node.gpus.back().is_whole()) ++node.gpus_whole;
  }
  ++classes_[node.node_class].nodes;
  ++classes_[node.node_class].memories[node.memory_mib_total];
  for (const AttemptKey& key : cluster.attempts_on(id)) {
    const Member* member = cluster.find_attempt(key)->find_member(id);
    count_use(node, *member, true);
  }
  index(node);
}

void Ledger::set_connected(NodeId id, bool connected) {
  NodeFree& node = node_at(id);
  if (node.connected == connected) return;
  unindex(node);
  node.connected = connected;
  index(node);
  if (connected) ++generation_;
}

// A granted device that the node no longer has is passed over: there is nothing of it to count.
void Ledger::count_use(NodeFree& node, const Member& member, bool take) {
  if (take) {
    node.cpus_used += member.cpus;
    node.memory_mib_used += member.memory_mib;
  } else {
    MUSTER_ASSERT(node.cpus_used >= member.cpus && node.memory_mib_used >= member.memory_mib);
    node.cpus_used -= member.cpus;
    node.memory_mib_used -= member.memory_mib;
  }
  for (const Grant& grant : member.grants) {
    for (GpuFree& gpu : node.gpus) {
      if (gpu.device != grant.device) continue;
      if (gpu.is_whole()) --node.gpus_whole;
      if (take) {
        MUSTER_ASSERT(gpu.milli_free >= grant.milli);
        gpu.milli_free -= grant.milli;
      } else {
        gpu.milli_free += grant.milli;
        MUSTER_ASSERT(gpu.milli_free <= kMilliPerGpu);
      }
      if (gpu.is_whole()) ++node.gpus_whole;
      break;
    }
  }
}

void Ledger::take(const Place& place) {
  for (const Member& member : place.members) {
    NodeFree& node = node_at(member.node);
    unindex(node);
    count_use(node, member, true);
    index(node);
  }
}

void Ledger::give(const Place& place) {
  for (const Member& member : place.members) {
    NodeFree& node = node_at(member.node);
    if (!node.exists) continue;
    unindex(node);
    count_use(node, member, false);
    index(node);
  }
  ++generation_;
}

}  // namespace muster
