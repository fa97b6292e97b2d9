// What a job's turn is worth: its own priority, and points for age, fair share and size.
#pragma once

#include <cstdint>

#include "controller/core/cluster.h"
#include "controller/core/decide/share.h"

namespace muster {

constexpr std::int64_t kPoint = 1000000;  // Scores are counted in millionths of a point.

struct PriorityFactors {
  std::uint32_t age = 0;  // Of kFactorOne, as the others.
  std::uint32_t fair_share = 0;
  std::uint32_t size = 0;
};

struct Order {
  Shares shares;
  std::uint64_t gpus_total = 0;  // Of all nodes.

  void rebuild(const Cluster& cluster);
  void count_gpus(const Cluster& cluster);
  PriorityFactors factors(const Cluster& cluster, const Job& job, Instant now) const;
  // Higher comes first.
  std::int64_t score(const Cluster& cluster, const Job& job, Instant now) const;
};

}  // namespace muster
