// What nodes hang on: switches, and switches above them. From the configuration, and for nodes that
// it does not name from what they report.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "controller/core/cluster.h"

namespace muster {

class Topology {
 public:
  // A switch with all below it: positions first … last-1.
  struct Domain {
    std::string name;
    bool is_leaf = false;  // Nodes hang on it directly.
    bool is_block = false;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t size() const { return last - first; }
  };

  explicit Topology(const Cluster& cluster);

  bool is_empty() const { return domains_.empty(); }
  const std::vector<Domain>& domains() const { return domains_; }  // What is below comes before.
  // Neighbours have neighbouring positions; nodes of no switch come last, all at order().size().
  std::uint32_t position(NodeId node) const;
  const std::vector<NodeId>& order() const { return order_; }  // By position.
  const Domain* find(const std::string& name) const;
  // Of those, in their order, that hang on it.
  std::vector<NodeId> below(const Domain& domain, const std::vector<NodeId>& nodes) const;

 private:
  struct Builder;

  std::vector<Domain> domains_;
  std::vector<NodeId> order_;
  std::vector<std::uint32_t> positions_;  // By node.
};

// Of nodes that would all do, as many as wanted (or all, when there are fewer) on few switches: in
// the smallest part of the tree that holds so many, then on the switches that have most of them.
std::vector<NodeId> pick_near(const Topology& topology, const std::vector<NodeId>& nodes,
                              std::size_t wanted);

// Sets of nodes that a wish allows, out of nodes that would all do, those that fit it closest
// first; each has at least `wanted` nodes. At most sets_max.
std::vector<std::vector<NodeId>> near_sets(const Topology& topology, const TopologyWish& wish,
                                           const std::vector<NodeId>& nodes, std::size_t wanted,
                                           std::size_t sets_max);

// The switch or block that most of the nodes hang on, and how many; nothing when none.
std::pair<std::string, std::size_t> fullest_domain(const Topology& topology,
                                                   const TopologyWish& wish,
                                                   const std::vector<NodeId>& nodes);

bool is_near(const Topology& topology, const TopologyWish& wish, const std::vector<NodeId>& nodes);

// "under one switch", "on at most 2 switches", …
std::string to_text(const TopologyWish& wish);

}  // namespace muster
