// When what runs will end, node by node: the part of the future that backfill counts on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"

namespace muster {

// One member of a running attempt, and what of its node comes free at its end.
struct Stay {
  Instant end;
  AttemptKey attempt;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::uint64_t whole = 0;  // GPUs that it has to itself: bit i is the node's GPU i, below 64.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;  // Others: GPU and milli.
};

// When the attempt ends at the latest by its time limit; it may overrun that by its kill_wait.
Instant end_by_limit(const Attempt& attempt, Duration limit);

class Horizon {
 public:
  void rebuild(const Cluster& cluster);
  // The attempt began, was launched, or its limit changed.
  void refresh(const Cluster& cluster, const AttemptKey& key);
  // Before it leaves the cluster.
  void remove(const Attempt& attempt);
  // The node's devices are not what they were.
  void refresh_node(const Cluster& cluster, NodeId node);

  // By end, then by attempt. Empty for a node that nothing runs on.
  const std::vector<Stay>& stays(NodeId node) const;

 private:
  std::vector<std::vector<Stay>> nodes_;  // By id.
};

}  // namespace muster
