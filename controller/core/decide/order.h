// What a job's turn is worth: its own priority, and points for age, fair share and size.
#pragma once

#include <cstdint>

#include "controller/core/cluster.h"
#include "controller/core/decide/forecast.h"
#include "controller/core/decide/share.h"

namespace muster {

// Where a job stands in its queue: the highest score first, then the least length.
struct Rank {
  std::int64_t score = 0;
  std::int64_t length = 0;  // 0 unless the queue takes the shortest first: see decide/shortest.
};

struct Order {
  Shares shares;
  Forecast forecast;
  std::uint64_t gpus_total = 0;  // Of all nodes.
  std::uint32_t node_gpus = 0;   // Of the largest.

  void rebuild(const Cluster& cluster);
  void count_gpus(const Cluster& cluster);
  Standing standing(Instant now) const {
    return {shares.factors(), shares.rows_shared(), gpus_total, now};
  }
  PriorityFactors factors(const Cluster& cluster, const Job& job, Instant now) const;
  // Higher comes first.
  std::int64_t score(const Cluster& cluster, const Job& job, Instant now) const;
  // In a queue that takes the shortest first, its own priority (with QOS and nice) is the score,
  // and the other points are in the length.
  Rank rank(const Cluster& cluster, const Job& job, Instant now) const;
};

}  // namespace muster
