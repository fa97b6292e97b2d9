// The order of jobs as the cluster stands.
#include "controller/core/decide/order.h"

namespace muster {
namespace {

// A job that was put at the top has the age of the one whose place it took.
Instant queued_at(const Cluster& cluster, const Job& job) {
  const auto taken = place_taken(job);
  const Job* before = taken ? cluster.find_job(*taken) : nullptr;
  return (before == nullptr ? job : *before).facts().submitted_at;
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
  return factors_of(standing(now), cluster.config(), job.facts(), now - queued_at(cluster, job));
}

std::int64_t Order::score(const Cluster& cluster, const Job& job, Instant now) const {
  return score_of(cluster.config().priority, job.facts(), factors(cluster, job, now));
}

}  // namespace muster
