// Walking the tree of switches.
#include "controller/core/decide/topology.h"

#include <algorithm>
#include <set>

namespace muster {

// Depth first, each switch once: a configuration with a cycle cannot hold it up.
struct Topology::Builder {
  Topology& topology;
  const Cluster& cluster;
  std::map<std::string, const SwitchConfig*> switches;
  std::map<std::string, std::vector<NodeId>> leaves;
  std::set<std::string> below;  // Those that another one has below it.
  std::set<std::string> seen;

  void read() {
    std::set<NodeId> named;
    for (const SwitchConfig& config : cluster.config().switches) {
      switches[config.name] = &config;
      below.insert(config.switches.begin(), config.switches.end());
      for (const std::string& name : config.nodes) {
        const Node* node = cluster.find_node(name);
        if (node != nullptr && named.insert(node->id).second)
          leaves[config.name].push_back(node->id);
      }
    }
    for (const auto& [id, node] : cluster.nodes()) {
      const std::string& reported = node.inventory.switch_name;
      if (!reported.empty() && named.insert(id).second) leaves[reported].push_back(id);
    }
  }

  void walk(const std::string& name, std::size_t depth) {
    constexpr std::size_t kDepthMax = 64;
    if (depth == kDepthMax || !seen.insert(name).second) return;
    const auto config = switches.find(name);
    const bool is_block = config != switches.end() && config->second->block;
    const bool is_upper = config != switches.end() && !config->second->switches.empty();
    const std::uint32_t first = here();
    if (const auto own = leaves.find(name); own != leaves.end()) {
      std::sort(own->second.begin(), own->second.end());
      for (const NodeId node : own->second) place(node);
      topology.domains_.push_back({name, true, is_block && !is_upper, first, here()});
    }
    if (!is_upper) return;
    for (const std::string& child : config->second->switches) walk(child, depth + 1);
    if (here() != first) topology.domains_.push_back({name, false, is_block, first, here()});
  }

  void place(NodeId node) {
    if (node.value >= topology.positions_.size())
      topology.positions_.resize(node.value + 1, UINT32_MAX);
    topology.positions_[node.value] = here();
    topology.order_.push_back(node);
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(topology.order_.size()); }
};

Topology::Topology(const Cluster& cluster) {
  Builder builder{*this, cluster, {}, {}, {}, {}};
  builder.read();
  for (const SwitchConfig& config : cluster.config().switches) {
    if (builder.below.count(config.name) == 0) builder.walk(config.name, 0);
  }
  for (const SwitchConfig& config : cluster.config().switches) builder.walk(config.name, 0);
  for (const auto& [name, nodes] : builder.leaves) builder.walk(name, 0);
}

std::uint32_t Topology::position(NodeId node) const {
  const auto end = static_cast<std::uint32_t>(order_.size());
  return node.value < positions_.size() ? std::min(positions_[node.value], end) : end;
}

const Topology::Domain* Topology::find(const std::string& name) const {
  const auto found = std::find_if(domains_.rbegin(), domains_.rend(),
                                  [&](const Domain& domain) { return domain.name == name; });
  return found == domains_.rend() ? nullptr : &*found;
}

std::vector<NodeId> Topology::below(const Domain& domain, const std::vector<NodeId>& nodes) const {
  std::vector<NodeId> some;
  for (const NodeId node : nodes) {
    const std::uint32_t at = position(node);
    if (at >= domain.first && at < domain.last) some.push_back(node);
  }
  return some;
}

namespace {

using Domain = Topology::Domain;

// How many of the nodes hang on each domain, without looking at all nodes for each.
class Counts {
 public:
  Counts(const Topology& topology, const std::vector<NodeId>& nodes)
      : sums_(topology.order().size() + 1) {
    for (const NodeId node : nodes) {
      const std::uint32_t at = topology.position(node);
      if (at < topology.order().size()) ++sums_[at + 1];
    }
    for (std::size_t i = 1; i < sums_.size(); ++i) sums_[i] += sums_[i - 1];
  }
  std::size_t of(const Domain& domain) const { return sums_[domain.last] - sums_[domain.first]; }

 private:
  std::vector<std::size_t> sums_;
};

struct Leaf {
  std::size_t count = 0;
  const Domain* domain = nullptr;  // Null: nodes of no switch.
};

// Those with most nodes first, then in the order of the tree.
std::vector<Leaf> fullest_leaves(const Topology& topology, const Counts& counts,
                                 const Domain* within) {
  std::vector<Leaf> leaves;
  for (const Domain& domain : topology.domains()) {
    if (!domain.is_leaf || counts.of(domain) == 0) continue;
    if (within != nullptr && (domain.first < within->first || domain.last > within->last)) continue;
    leaves.push_back({counts.of(domain), &domain});
  }
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const Leaf& a, const Leaf& b) { return a.count > b.count; });
  return leaves;
}

void append(std::vector<NodeId>& out, std::vector<NodeId> some, std::size_t most) {
  if (some.size() > most) some.resize(most);
  out.insert(out.end(), some.begin(), some.end());
}

// The leaves with most of them, and for the rest the smallest leaf that will do.
std::vector<NodeId> pick_by_leaves(const Topology& topology, const std::vector<NodeId>& nodes,
                                   std::size_t wanted, const std::vector<Leaf>& leaves) {
  std::vector<NodeId> picked;
  for (std::size_t i = 0; i < leaves.size() && picked.size() < wanted; ++i) {
    const std::size_t rest = wanted - picked.size();
    std::size_t best = i;
    for (std::size_t j = i + 1; j < leaves.size() && leaves[j].count >= rest; ++j) {
      if (leaves[j].count < leaves[best].count) best = j;
    }
    append(picked, topology.below(*leaves[best].domain, nodes), rest);
  }
  return picked;
}

std::vector<NodeId> outside(const Topology& topology, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> some;
  for (const NodeId node : nodes) {
    if (topology.position(node) == topology.order().size()) some.push_back(node);
  }
  return some;
}

// Whole segments from each leaf.
std::vector<NodeId> pick_segments(const Topology& topology, const std::vector<NodeId>& nodes,
                                  std::size_t wanted, std::size_t segment) {
  const Counts counts(topology, nodes);
  std::vector<NodeId> picked;
  for (const Leaf& leaf : fullest_leaves(topology, counts, nullptr)) {
    const std::size_t whole = leaf.count / segment * segment;
    append(picked, topology.below(*leaf.domain, nodes), std::min(whole, wanted - picked.size()));
    if (picked.size() == wanted) break;
  }
  return picked;
}

bool may_hold(const Domain& domain, const TopologyWish& wish) {
  if (!wish.name.empty()) return domain.name == wish.name;
  return wish.kind == TopologyKind::kBlock ? domain.is_block : domain.is_leaf;
}

}  // namespace

std::vector<NodeId> pick_near(const Topology& topology, const std::vector<NodeId>& nodes,
                              std::size_t wanted) {
  const Counts counts(topology, nodes);
  const Domain* best = nullptr;
  for (const Domain& domain : topology.domains()) {
    if (counts.of(domain) < wanted) continue;
    const bool is_better = best == nullptr || std::make_pair(domain.size(), counts.of(domain)) <
                                                  std::make_pair(best->size(), counts.of(*best));
    if (is_better) best = &domain;
  }
  std::vector<NodeId> picked =
      pick_by_leaves(topology, nodes, wanted, fullest_leaves(topology, counts, best));
  if (picked.size() < wanted) append(picked, outside(topology, nodes), wanted - picked.size());
  return picked;
}

std::vector<std::vector<NodeId>> near_sets(const Topology& topology, const TopologyWish& wish,
                                           const std::vector<NodeId>& nodes, std::size_t wanted,
                                           std::size_t sets_max) {
  const Counts counts(topology, nodes);
  std::vector<std::vector<NodeId>> sets;
  if (wish.kind == TopologyKind::kSegments) {
    sets.push_back(pick_segments(topology, nodes, wanted, wish.count));
  } else if (wish.kind == TopologyKind::kSwitches) {
    std::vector<NodeId> fewest = pick_near(topology, nodes, wanted);
    if (is_near(topology, wish, fewest)) sets.push_back(std::move(fewest));
    std::vector<Leaf> leaves = fullest_leaves(topology, counts, nullptr);
    if (leaves.size() > wish.count) leaves.resize(wish.count);
    sets.emplace_back();
    for (const Leaf& leaf : leaves)
      append(sets.back(), topology.below(*leaf.domain, nodes), nodes.size());
  } else {
    std::vector<Leaf> able;
    for (const Domain& domain : topology.domains()) {
      if (may_hold(domain, wish) && counts.of(domain) >= wanted)
        able.push_back({counts.of(domain), &domain});
    }
    std::stable_sort(able.begin(), able.end(),
                     [](const Leaf& a, const Leaf& b) { return a.count < b.count; });
    for (std::size_t i = 0; i < able.size() && i < sets_max; ++i)
      sets.push_back(topology.below(*able[i].domain, nodes));
  }
  sets.erase(std::remove_if(sets.begin(), sets.end(),
                            [&](const auto& set) { return set.size() < wanted; }),
             sets.end());
  return sets;
}

bool is_near(const Topology& topology, const TopologyWish& wish, const std::vector<NodeId>& nodes) {
  const Counts counts(topology, nodes);
  std::size_t covered = 0;
  std::size_t leaves = 0;
  bool whole_segments = true;
  for (const Domain& domain : topology.domains()) {
    const std::size_t count = counts.of(domain);
    if (may_hold(domain, wish) && count == nodes.size()) return true;
    if (!domain.is_leaf || count == 0) continue;
    covered += count;
    ++leaves;
    whole_segments = whole_segments && wish.count != 0 && count % wish.count == 0;
  }
  if (covered != nodes.size()) return false;
  if (wish.kind == TopologyKind::kSwitches) return leaves <= wish.count;
  return wish.kind == TopologyKind::kSegments && whole_segments;
}

std::pair<std::string, std::size_t> fullest_domain(const Topology& topology,
                                                   const TopologyWish& wish,
                                                   const std::vector<NodeId>& nodes) {
  const Counts counts(topology, nodes);
  std::pair<std::string, std::size_t> best;
  for (const Domain& domain : topology.domains()) {
    if (may_hold(domain, wish) && counts.of(domain) > best.second)
      best = {domain.name, counts.of(domain)};
  }
  return best;
}

std::string to_text(const TopologyWish& wish) {
  const std::string count = std::to_string(wish.count);
  if (!wish.name.empty()) return "under switch " + wish.name;
  switch (wish.kind) {
    case TopologyKind::kSwitch:
      return "under one switch";
    case TopologyKind::kBlock:
      return "in one block";
    case TopologyKind::kSwitches:
      return "on at most " + count + (wish.count == 1 ? " switch" : " switches");
    case TopologyKind::kSegments:
      return "in segments of " + count + " under one switch each";
    case TopologyKind::kAny:
      break;
  }
  return "anywhere";
}

}  // namespace muster
