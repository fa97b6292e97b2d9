// Levels of service.
#include "controller/core/decide/attained.h"

#include <algorithm>

#include "controller/core/decide/shortest.h"
#include "controller/core/run_times.h"

namespace muster {
namespace {

std::int64_t level_of_service(const Service& service) {
  const std::int64_t gpus = std::max(1U, service.gpus);
  std::int64_t level = 0;
  std::int64_t ends_at = kLevelFirst.ms() / gpus;
  for (; level < kLevelsMax && service.ran.ms() >= ends_at; ++level) ends_at *= kLevelGrowth;
  return level;
}

bool is_overdue(const Service& service) {
  return service.waited * (service.nodes > 1 ? 2 : 1) > kServiceWaitMax;
}

}  // namespace

bool orders_by_service(const QueueConfig& queue) { return queue.order == QueueOrder::kAttained; }

bool orders_by_service(const Cluster& cluster, const JobTerms& terms) {
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  return queue != nullptr && orders_by_service(*queue);
}

Service service_of(const Job& job, Element element, Instant now) {
  const JobFacts& facts = job.facts();
  const Duration ran = job.charged(element);
  const Duration waited = now - facts.submitted_at - ran;
  return {gpus_of(*facts.terms), nodes_of(*facts.terms), ran, std::max(waited, Duration{})};
}

std::int64_t level_of(const Service& service) {
  return is_overdue(service) ? kOverdueLevel : level_of_service(service);
}

std::int64_t length_of(const Service& service) {
  return is_overdue(service) ? -service.waited.ms() : level_of_service(service);
}

std::uint32_t level_in_line(const Cluster& cluster, const Job& job) {
  if (!orders_by_service(cluster, *job.facts().terms)) return 0;
  const std::optional<Element> next = job.first_in(ElementState::kPending);
  if (!next) return 0;
  return static_cast<std::uint32_t>(level_of_service(service_of(job, *next, {})));
}

}  // namespace muster
