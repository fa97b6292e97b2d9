// Looking names up among the nodes.
#include "controller/core/decide/known.h"

#include "base/types/text.h"
#include "controller/core/decide/place.h"

namespace muster {
namespace {

Error unknown(const std::string& what, const std::string& word,
              const std::set<std::string>& known) {
  return fail(ErrorCode::kNotFound,
              what + " " + escape_for_terminal(word) + suggestion(word, known));
}

Result<void> check_nodes(const Cluster& cluster, const std::vector<std::string>& names,
                         const std::string& option) {
  for (const std::string& name : names) {
    if (cluster.find_node(name) != nullptr) continue;
    std::set<std::string> known;
    for (const auto& [id, node] : cluster.nodes()) known.insert(node.name);
    return unknown(option + ": there is no node", name, known);
  }
  return {};
}

// Of nodes that exist, usable or not.
std::set<std::string> features_of(const Ledger& ledger) {
  std::set<std::string> features;
  for (const NodeClass& node_class : ledger.classes()) {
    if (node_class.nodes == 0) continue;
    features.insert(node_class.traits.features.begin(), node_class.traits.features.end());
  }
  return features;
}

}  // namespace

std::string suggestion_or(const std::string& word, const std::vector<std::string_view>& known,
                          const std::string& otherwise) {
  const std::string_view near = nearest_match(word, known);
  return near.empty() ? "; " + otherwise : "; did you mean " + std::string(near) + "?";
}

std::string suggestion(const std::string& word, const std::set<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view near = nearest_match(word, names);
  if (!near.empty()) return "; did you mean " + std::string(near) + "?";
  std::string all;
  for (std::size_t i = 0; i < names.size() && i < 8; ++i)
    all += (i == 0 ? "" : ", ") + std::string(names[i]);
  return all.empty() ? "" : "; there are: " + all;
}

Result<void> check_known(const Cluster& cluster, const Ledger& ledger, const Group& group) {
  if (auto fine = check_nodes(cluster, group.nodes_only, "--nodelist"); !fine) return fine;
  if (auto fine = check_nodes(cluster, group.nodes_excluded, "--exclude"); !fine) return fine;
  if (group.features.empty() && group.wish.empty()) return {};
  const std::set<std::string> known = features_of(ledger);
  std::set<std::string> asked(group.features.begin(), group.features.end());
  for (const WishTerm& term : group.wish) {
    if (term.op == WishOp::kFeature) asked.insert(term.feature);
  }
  for (const std::string& feature : asked) {
    if (known.count(feature) == 0)
      return unknown("--constraint: no node has the feature", feature, known);
  }
  return {};
}

Result<void> check_types_known(const Ledger& ledger, const Group& group) {
  if (group.gpu_types.empty()) return {};
  std::set<std::string> known;
  for (const NodeClass& node_class : ledger.classes()) {
    if (node_class.nodes == 0) continue;
    for (const auto& gpu : node_class.traits.gpus) known.insert(gpu.first);
  }
  for (const std::string& type : group.gpu_types) {
    if (known.count(type) == 0)
      return unknown("--gpu-type: no node has a GPU of type", type, known);
  }
  return {};
}

namespace {

Error contradiction(const std::string& why) {
  return fail(ErrorCode::kInvalid, "--topology: " + why);
}

Result<void> check_shape(const TopologyWish& wish, const std::vector<Group>& groups) {
  const bool counts = wish.kind == TopologyKind::kSwitches || wish.kind == TopologyKind::kSegments;
  if (counts != (wish.count != 0) || wish.count > kNodesPerJobMax)
    return contradiction(counts ? "a count of at least 1 is missing" : "a count has no meaning");
  if (counts && !wish.name.empty()) return contradiction("a name has no meaning beside a count");
  if (wish.kind != TopologyKind::kSegments) return {};
  const Group& group = groups.front();
  if (groups.size() != 1 || group.nodes_min != group.nodes_max)
    return contradiction("segments need one group with a fixed number of nodes");
  if (group.nodes_min % wish.count == 0) return {};
  return contradiction(std::to_string(group.nodes_min) + " nodes do not divide into segments of " +
                       std::to_string(wish.count));
}

}  // namespace

Result<void> check_topology(const Cluster& cluster, const Ledger& ledger, const QueueConfig& queue,
                            const JobSpec& spec) {
  const TopologyWish& wish = spec.topology;
  if (wish.kind == TopologyKind::kAny) {
    return wish == TopologyWish{} ? Result<void>() : contradiction("the kind is missing");
  }
  if (auto fine = check_shape(wish, spec.groups); !fine) return fine;
  const Topology& topology = ledger.topology(cluster);
  if (!wish.name.empty() && topology.find(wish.name) == nullptr) {
    std::set<std::string> known;
    for (const Topology::Domain& domain : topology.domains()) known.insert(domain.name);
    return unknown("--topology: there is no switch", wish.name, known);
  }
  if (!wish.required) return {};
  if (topology.is_empty())
    return contradiction("no switches are known here; leave out the ! to have it where possible");
  const auto able = able_nodes(cluster, ledger, queue, spec.groups, false);
  const std::uint32_t wanted = nodes_wanted(spec.groups);
  if (!near_sets(topology, wish, able, wanted, 1).empty()) return {};
  std::string text = "can never run: asks for " + std::to_string(wanted) +
                     (wanted == 1 ? " node " : " nodes ") + to_text(wish) + ", but of the " +
                     std::to_string(able.size()) + " that could hold them in queue " + queue.name;
  const auto fullest = fullest_domain(topology, wish, able);
  text += wish.count != 0 ? " no choice is so near together"
                          : " no more than " + std::to_string(fullest.second) + " are";
  return fail(ErrorCode::kInvalid, text + "; see gpuinfo for what there is");
}

}  // namespace muster
