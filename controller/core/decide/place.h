// Where a request fits: all members or none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/resources.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/backfill.h"
#include "controller/core/decide/ledger.h"

namespace muster {

// One group of a request with its names looked up. Cheap to make; valid while the cluster's nodes
// stay the same.
struct GroupNeed {
  const Group* group = nullptr;
  std::string queue;
  bool queue_listed = false;  // The queue names its nodes.
  bool is_confined = false;   // To `only`: nodes asked for, those of a reservation, or both.
  std::set<NodeId> only;
  std::set<NodeId> excluded;
};

GroupNeed need_of(const Cluster& cluster, const QueueConfig& queue, const Group& group);
// Of a reservation's nodes only. Null: not confined.
void confine(GroupNeed& need, const std::vector<NodeId>* nodes);

// How many of the GPUs that were added one member can have, where it wants them together.
class GpuTally {
 public:
  explicit GpuTally(const Group& group) : group_(group) {}
  void add(std::uint32_t clique, std::uint32_t socket);
  std::uint32_t count() const { return count_; }

 private:
  const Group& group_;
  std::map<std::uint32_t, std::uint32_t> in_;  // By clique, or by socket.
  std::uint32_t count_ = 0;
};
inline bool wants_gpus_together(const Group& group) {
  return group.one_clique || group.gpus_per_socket != 0;
}

// What one node must give, all of it for an exclusive group, memory by its share when the request
// left it open.
std::uint32_t cpus_needed(const Group& group, const NodeFree& node);
std::uint64_t memory_needed(const Group& group, const NodeFree& node);
std::uint64_t memory_needed(const Group& group, const NodeClass& node_class,
                            std::uint64_t memory_mib_total);
// 0 is best; as many as there are acceptable types when it is none of them.
std::size_t type_rank(const Group& group, const std::string& type);
bool gpu_accepted(const Group& group, const std::string& type, std::uint64_t memory_mib);
// GPUs of the node that the group would accept and that are free enough now; of one clique when it
// must be one.
std::uint32_t gpus_free_for(const Group& group, const NodeFree& node);

// First constraint that a node fails, in this order; the ones up to kMemoryTotal are about the idle
// node.
enum class Constraint : std::uint8_t {
  kNamed,  // Is among the nodes asked for, and not excluded.
  kFeatures,
  kGpusTotal,      // Has enough GPUs of an acceptable type and memory.
  kTogetherTotal,  // Has so many of them in one NVLink clique, or on each of so many sockets.
  kCpusTotal,
  kMemoryTotal,
  kUp,       // Up and connected.
  kAvoided,  // Did not just fail this job.
  kAlone,    // Has nobody on it, when the request shares its nodes with nobody.
  kGpusFree,
  kTogetherFree,
  kCpusFree,
  kMemoryFree,
  kReserved,  // Not reserved for others before it would end; looked at by explain only.
  kFits,
};
// What all nodes of the class fail; kFits, though some may have too little memory, when nothing.
Constraint idle_failed(const Group& group, const NodeClass& node_class);
Constraint first_failed(const GroupNeed& need, const NodeFree& node, const NodeClass& node_class,
                        const std::set<NodeId>& avoided);
// The same for a node whose idle state is known to do: kUp and later.
Constraint failed_now(const Group& group, const NodeFree& node, const std::set<NodeId>& avoided);
bool in_queue(const GroupNeed& need, const NodeClass& node_class);
// Could hold a member of some group, were they idle. Only those that are up when `usable`.
std::vector<NodeId> able_nodes(const Cluster& cluster, const Ledger& ledger,
                               const QueueConfig& queue, const std::vector<Group>& groups,
                               bool usable);
// Could hold a member of some group now, beside planned starts; the fullest first.
struct PlaceRequest;
struct PlaceFailure;
std::vector<NodeId> fitting_nodes(const Present& present, const PlaceRequest& request,
                                  PlaceFailure* failure = nullptr);
std::uint32_t nodes_wanted(const std::vector<Group>& groups);  // At least, of all groups.
bool is_named(const GroupNeed& need, NodeId node);  // Asked for, or not excluded when none is.

// What a group alone must have: nodes named by earlier groups of the same job are not free for it.
struct GroupFailure {
  std::uint32_t group = 0;
  std::set<NodeId> taken;
};

// What a place must fit beside.
struct PlaceRequest {
  const JobTerms& terms;
  const std::set<NodeId>& avoided;
  // Planned starts of others, which a job that runs until `end` must leave their room. Null: none.
  const Backfill* backfill = nullptr;
  Instant end{};
  // Nodes to try alone first: where its start was planned. Null: none.
  const std::set<NodeId>* planned = nullptr;
  ElementKey element{};       // Its own plan is not in its way.
  bool keeps_windows = true;  // Of reservations, when it runs to its limit.
};

struct PlaceFailure {
  GroupFailure group;
  bool scattered = false;  // It would fit, but not as near together as it must be.
  bool held = false;       // Some node would do but for a planned start: a shorter job might fit.
  std::uint32_t nodes_looked_at = 0;  // Also when it succeeded.
};

// A place for all groups of the terms in their queue, or nothing. The same books give the same
// place. failure->nodes_looked_at is what it cost.
std::optional<Place> find_place(const Present& present, const PlaceRequest& request,
                                PlaceFailure* failure = nullptr);

}  // namespace muster
