// The order of jobs as the cluster stands.
#include "controller/core/decide/order.h"

#include <algorithm>

#include "controller/core/decide/attained.h"
#include "controller/core/decide/shortest.h"

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
  forecast.rebuild(cluster);
}

void Order::count_gpus(const Cluster& cluster) {
  gpus_total = 0;
  node_gpus = 0;
  for (const auto& [id, node] : cluster.nodes()) {
    const auto gpus = static_cast<std::uint32_t>(node.inventory.gpus.size());
    gpus_total += gpus;
    node_gpus = std::max(node_gpus, gpus);
  }
}

PriorityFactors Order::factors(const Cluster& cluster, const Job& job, Instant now) const {
  return factors_of(standing(now), cluster.config(), job.facts(), now - queued_at(cluster, job));
}

std::int64_t Order::score(const Cluster& cluster, const Job& job, Instant now) const {
  return score_of(cluster.config().priority, job.facts(), factors(cluster, job, now));
}

Rank Order::rank(const Cluster& cluster, const Job& job, Instant now) const {
  const JobFacts& facts = job.facts();
  const PriorityConfig& weights = cluster.config().priority;
  const PriorityFactors of = factors(cluster, job, now);
  const std::int64_t all = score_of(weights, facts, of);
  const bool by_service = orders_by_service(cluster, *facts.terms);
  if (!by_service && !orders_by_length(cluster, *facts.terms)) return {all, 0};
  const std::int64_t own = score_of(weights, facts, {0, 0, 0, of.qos});
  if (by_service) {
    const std::optional<Element> next = job.first_in(ElementState::kPending);
    return {own, length_of(service_of(job, next.value_or(Element{}), now))};
  }
  const Duration expected = forecast.remaining(cluster, facts, Duration{});
  const Length length{expected, std::max(now - facts.submitted_at, Duration{}), all - own};
  return {own, length_of(*facts.terms, node_gpus, length)};
}

}  // namespace muster
