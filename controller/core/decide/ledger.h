// What is free, node by node and GPU by GPU, indexed so that placing a job does not look at every
// node. Told of every event; changed otherwise only by a Trial, which puts everything back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/resources.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/fragment.h"
#include "controller/core/decide/mix.h"
#include "controller/core/decide/topology.h"

namespace muster {

struct GpuFree {
  DeviceId device;
  std::uint32_t index = 0;  // On its node.
  std::uint32_t clique = 0;
  std::uint32_t socket = 0;  // Its NUMA node.
  std::uint64_t memory_mib = 0;
  std::string type;
  bool ready = true;
  std::uint32_t milli_free = kMilliPerGpu;
  bool is_whole() const { return ready && milli_free == kMilliPerGpu; }
};

struct NodeFree {
  NodeId id;
  bool exists = false;
  bool reported = false;   // What it has is known.
  bool up = false;         // In the cluster's books.
  bool connected = false;  // Heard in this epoch and not silent.
  ClassId node_class = 0;
  std::uint32_t cpus_total = 0;
  std::uint32_t cpus_per_core = 1;
  std::uint64_t memory_mib_total = 0;
  std::uint32_t cpus_used = 0;
  std::uint64_t memory_mib_used = 0;
  std::uint32_t gpus_whole = 0;  // Entirely free and ready.
  std::vector<GpuFree> gpus;     // By index.

  bool usable() const { return exists && up && connected; }
  bool is_idle() const { return cpus_used == 0; }  // Every member has a CPU at least.
  std::uint32_t cpus_free() const { return cpus_total > cpus_used ? cpus_total - cpus_used : 0; }
  std::uint64_t memory_mib_free() const {
    return memory_mib_total > memory_mib_used ? memory_mib_total - memory_mib_used : 0;
  }
};

// Nodes that are alike in everything a request can ask of an idle node. Queues that list their
// nodes are part of it.
struct NodeTraits {
  std::vector<std::pair<std::string, std::uint64_t>> gpus;  // Type and memory, by index.
  std::vector<std::string> features;                        // Sorted.
  std::vector<std::string> queues;     // Those with a list that names the node, sorted.
  std::vector<std::uint32_t> cliques;  // Of the GPUs, by index.
  std::vector<std::uint32_t> sockets;  // As well.
  std::uint32_t cpus = 0;
  auto operator<=>(const NodeTraits&) const = default;
};

struct NodeClass {
  NodeTraits traits;
  std::uint32_t nodes = 0;  // Existing ones, usable or not.
  // How many of them have so much memory: it differs a little from node to node, so it makes no
  // class.
  std::map<std::uint64_t, std::uint32_t> memories;
  // Usable nodes by the number of whole free GPUs, then by free CPUs, then by id.
  std::vector<std::set<std::pair<std::uint32_t, NodeId>>> by_gpus;
};

class Ledger {
 public:
  // Starts from the cluster as it is. Nothing is connected.
  void rebuild(const Cluster& cluster);
  // A node is new, or reported, changed its state or was removed.
  void refresh_node(const Cluster& cluster, NodeId node);
  void set_connected(NodeId node, bool connected);
  void take(const Place& place);
  void give(const Place& place);
  // A job was submitted: later places keep room for its like.
  void note_arrival(JobId id, const std::shared_ptr<const JobTerms>& terms);

  const std::vector<NodeFree>& nodes() const { return nodes_; }  // By id; check exists.
  const NodeFree* find_node(NodeId id) const;
  const std::vector<NodeClass>& classes() const { return classes_; }
  // What the nodes hang on. Worked out when it is asked for after a change.
  const Topology& topology(const Cluster& cluster) const;
  // Rises whenever something may have become free: what did not fit before is worth another look.
  std::uint64_t generation() const { return generation_; }
  void wake() { ++generation_; }
  // The order in which nodes are best used. What it answers depends on the books and the arrivals
  // alone.
  Fragments& fragments() const { return fragments_; }
  Books books() const { return {nodes_, classes_, arrivals_}; }

 private:
  friend class Trial;  // Puts the generation back as well: nothing has changed for the line.
  NodeFree& node_at(NodeId id);
  void index(const NodeFree& node);
  void unindex(const NodeFree& node);
  void count_arrivals(const Cluster& cluster);
  void leave_class(const NodeFree& node);
  void count_use(NodeFree& node, const Member& member, bool take);
  void note_switch(NodeId id, const Node* facts);
  ClassId class_of(const Cluster& cluster, const Node& node);

  std::vector<NodeFree> nodes_;
  std::vector<NodeClass> classes_;
  std::map<NodeTraits, ClassId> class_ids_;
  Arrivals arrivals_;
  mutable Fragments fragments_;        // What has been worked out is kept.
  std::vector<std::string> switches_;  // That nodes report, by id.
  mutable std::optional<Topology> topology_;
  std::uint64_t generation_ = 1;
};

}  // namespace muster
