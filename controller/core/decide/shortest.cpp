// Scores.
#include "controller/core/decide/shortest.h"

#include <algorithm>

#include "controller/core/decide/order.h"

namespace muster {
namespace {

constexpr std::int64_t kGpuTimeMax = 1'000'000'000'000'000;  // In milliseconds: no overflow.
constexpr std::int64_t kParts = 1024;                        // Of a whole.
constexpr std::int64_t kOctavesMax = 40;
constexpr std::int64_t kBeforeAll = std::int64_t{1} << 60;  // More than any waiting times nodes.

// amount × 2^(-points / kPointsHalve), between powers of two on a straight
// line.
std::int64_t halved_by(std::int64_t amount, std::int64_t points) {
  constexpr std::int64_t kHalve = kPointsHalve * kPoint;
  points = std::clamp<std::int64_t>(points, 0, kOctavesMax * kHalve - 1);
  const std::int64_t half = amount >> (points / kHalve);
  const std::int64_t rest = points % kHalve * kParts / kHalve;
  return half - half / 2 * rest / kParts;
}

}  // namespace

std::uint32_t nodes_of(const JobTerms& terms) {
  std::uint64_t nodes = 0;
  for (const Group& group : terms.groups) nodes += group.nodes_min;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes, kNodesPerJobMax));
}

bool orders_by_length(const Cluster& cluster, const JobTerms& terms) {
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  return queue != nullptr && queue->order == QueueOrder::kShortest;
}

bool is_predicted(const Cluster& cluster, const JobTerms& terms) {
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  return queue != nullptr && queue->predict;
}

bool is_wide(const JobTerms& terms, std::uint32_t node_gpus) {
  return nodes_of(terms) > 1 || gpus_of(terms) >= std::max(1U, node_gpus);
}

bool has_waited_long(const JobTerms& terms, std::uint32_t node_gpus, Duration waited) {
  if (waited > kWaitMax) return true;
  return is_wide(terms, node_gpus) && waited.us > kWaitWideMax.us / std::int64_t{nodes_of(terms)};
}

std::int64_t length_of(const JobTerms& terms, std::uint32_t node_gpus, const Length& length) {
  const std::int64_t nodes = std::max(1U, nodes_of(terms));
  const std::int64_t weighed = length.waited.ms() * (nodes > 1 ? 2 : 1);
  if (weighed > kWaitMax.ms()) return -kBeforeAll - weighed;
  if (has_waited_long(terms, node_gpus, length.waited)) return -length.waited.ms() * nodes - 1;
  const std::int64_t gpus = std::max(1U, gpus_of(terms));
  const std::int64_t gpu_time = std::min(kGpuTimeMax, length.expected.ms() * gpus);
  const std::int64_t aged =
      gpu_time * kParts / (kParts + length.waited.us * kParts / kWaitHalves.us);
  return halved_by(aged, length.points);
}

}  // namespace muster
