// Who comes first in a queue with order = "shortest", among jobs of equal
// priority: the least GPU time expected. Waiting makes it count less, and so do
// the points for fair share, age and size: they weigh beside the length and do
// not decide before it (docs/decisions/0006). Before all of these come those
// that have waited too long, wide ones sooner.
#pragma once

#include <cstdint>

#include "base/types/time.h"
#include "controller/core/cluster.h"

namespace muster {

// After waiting so long, half the GPU time weighs as much.
constexpr Duration kWaitHalves = seconds(100'000);
// So many points more are worth half the GPU time.
constexpr std::int64_t kPointsHalve = 200;
// A wide job waits so long, divided by its nodes, for shorter ones. From then
// on its start is planned, and the order is that of waiting times nodes.
constexpr Duration kWaitWideMax = seconds(20'000);
// Having waited so long, any job comes before all those: the order is that of
// waiting, which counts double for a job of several nodes.
constexpr Duration kWaitMax = seconds(150'000);

bool orders_by_length(const Cluster& cluster, const JobTerms& terms);
bool is_predicted(const Cluster& cluster, const JobTerms& terms);

std::uint32_t nodes_of(const JobTerms& terms);  // At least.
// Several nodes, or one whole: what no single end makes room for. `node_gpus`
// has the largest node.
bool is_wide(const JobTerms& terms, std::uint32_t node_gpus);
// It has waited too long: it has its start planned and lets nobody pass.
bool has_waited_long(const JobTerms& terms, std::uint32_t node_gpus, Duration waited);

struct Length {
  Duration expected;  // How long it runs, in the mean.
  Duration waited;
  std::int64_t points = 0;  // In parts of kPoint.
};
// Lower comes first; below zero exactly for what has waited long.
std::int64_t length_of(const JobTerms& terms, std::uint32_t node_gpus, const Length& length);

}  // namespace muster
