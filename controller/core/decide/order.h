// What a job's turn is worth: its own priority, and points for age, fair share and size.
#pragma once

#include <cstdint>

#include "controller/core/cluster.h"
#include "controller/core/decide/share.h"

namespace muster {

struct Order {
  Shares shares;
  std::uint64_t gpus_total = 0;  // Of all nodes.

  void rebuild(const Cluster& cluster);
  void count_gpus(const Cluster& cluster);
  Standing standing(Instant now) const {
    return {shares.factors(), shares.rows_shared(), gpus_total, now};
  }
  PriorityFactors factors(const Cluster& cluster, const Job& job, Instant now) const;
  // Higher comes first.
  std::int64_t score(const Cluster& cluster, const Job& job, Instant now) const;
};

}  // namespace muster
