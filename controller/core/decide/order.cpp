// Adding up the points.
#include "controller/core/decide/order.h"

#include <algorithm>

#include "controller/core/decide/line.h"

namespace muster {
namespace {

std::uint32_t part(std::uint64_t of, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<std::uint32_t>(std::min(of, whole) * kFactorOne / whole);
}

// A job that was put at the top has the age of the one whose place it took.
Instant queued_at(const Cluster& cluster, const Job& job) {
  const auto position = position_of(job);
  if (position > 0) {
    const Job* before = cluster.find_job(JobId{static_cast<std::uint64_t>(position)});
    if (before != nullptr) return before->facts().submitted_at;
  }
  return job.facts().submitted_at;
}

}  // namespace

void Order::rebuild(const Cluster& cluster) {
  count_gpus(cluster);
  shares.rebuild(cluster);
}

void Order::count_gpus(const Cluster& cluster) {
  gpus_total = 0;
  for (const auto& [id, node] : cluster.nodes()) gpus_total += node.inventory.gpus.size();
}

PriorityFactors Order::factors(const Cluster& cluster, const Job& job, Instant now) const {
  const JobFacts& facts = job.facts();
  const Duration age = now - queued_at(cluster, job);
  const Duration age_max = cluster.config().priority.age_max;
  std::uint64_t gpus = 0;
  for (const Group& group : facts.groups())
    gpus += std::uint64_t{group.nodes_min} * group.gpus_per_node;
  PriorityFactors factors;
  factors.age = part(static_cast<std::uint64_t>(std::max<std::int64_t>(age.ms(), 0)),
                     static_cast<std::uint64_t>(std::max<std::int64_t>(age_max.ms(), 0)));
  factors.fair_share = shares.factor(facts.account(), facts.uid());
  factors.size = part(gpus, gpus_total);
  return factors;
}

std::int64_t Order::score(const Cluster& cluster, const Job& job, Instant now) const {
  const PriorityConfig& weights = cluster.config().priority;
  const PriorityFactors of = factors(cluster, job, now);
  return std::int64_t{job.facts().priority()} * kPoint + std::int64_t{weights.age} * of.age +
         std::int64_t{weights.fair_share} * of.fair_share + std::int64_t{weights.size} * of.size;
}

}  // namespace muster
