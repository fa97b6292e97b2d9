// Looking names up among the nodes.
#include "controller/core/decide/known.h"

#include "base/types/text.h"

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

}  // namespace muster
