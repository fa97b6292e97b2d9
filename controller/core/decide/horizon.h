// When what runs will end, node by node: the part of the future that backfill counts on. By time
// limits, or, in queues that predict, by the forecast when that is earlier.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/attained.h"
#include "controller/core/decide/forecast.h"

namespace muster {

// One member of a running attempt, and what of its node comes free at its end.
struct Stay {
  Instant end;
  AttemptKey attempt;
  Instant since;  // Launched; started when it is not.
  std::uint64_t worth =
      0;  // Weighted milli-GPUs of the whole attempt; 0 where nobody may preempt it.
  std::uint32_t queue = 0;  // Place of its queue in the configuration; past the end: it is gone.
  std::uint32_t qos = 0;    // The same of its QOS; past the end: it has none.
  // Where jobs of its own queue may stop it (decide/attained): what it had before this attempt. Its
  // waiting does not grow while it runs.
  std::optional<Service> before;
  bool stopping = false;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::uint64_t whole = 0;  // GPUs that it has to itself: bit i is the node's GPU i, below 64.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;  // Others: GPU and milli.
};

// By its time limit alone.
Instant end_by_limit(const Attempt& attempt, Duration limit);
// When the attempt ends at the latest, by its time limit or by the grace of one that is being
// stopped; it may overrun its limit by its kill_wait.
Instant end_known(const Cluster& cluster, const Attempt& attempt);

// What ends are told from.
struct Outlook {
  const Cluster& cluster;
  const Forecast& forecast;
  Instant now;
};

class Horizon {
 public:
  void rebuild(const Outlook& outlook);
  // The attempt began, was launched, is being stopped, or its limit changed.
  void refresh(const Outlook& outlook, const AttemptKey& key);
  // So many nodes from that one on: what runs in queues that predict ends when the forecast says so
  // by now. Answers where to go on; null: that was the last.
  std::optional<NodeId> foresee(const Outlook& outlook, NodeId from, std::size_t count);
  // Before it leaves the cluster.
  void remove(const Attempt& attempt);
  // The same of an attempt that is only thought of.
  void enter(const Cluster& cluster, const AttemptKey& key, const Place& place, Instant end);
  void leave(const AttemptKey& key, const Place& place);
  // The node's devices are not what they were.
  void refresh_node(const Cluster& cluster, NodeId node);

  // By end, then by attempt. Empty for a node that nothing runs on.
  const std::vector<Stay>& stays(NodeId node) const;

 private:
  void insert(const Cluster& cluster, const Place& place, const Stay& common);

  std::vector<std::vector<Stay>> nodes_;  // By id.
};

}  // namespace muster
