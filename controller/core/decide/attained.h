// Who comes first in a queue with order = "attained", among jobs of equal priority: who has had the
// least GPU time so far, in levels that double (discretised 2D-LAS: Gu et al., Tiresias, NSDI'19).
// Jobs of a higher level are stopped for those of a lower one, which needs no forecast: what is
// short ends before its level rises. Within a level the order is that of submission. Before all
// come those that have waited too long in all, and nobody of the queue stops these.
#pragma once

#include <cstdint>

#include "base/types/time.h"
#include "controller/core/cluster.h"

namespace muster {

// GPU time of level 0. Each further level ends at kLevelGrowth times as much.
constexpr Duration kLevelFirst = hours(1);
constexpr std::int64_t kLevelGrowth = 2;
constexpr std::int64_t kLevelsMax = 24;
// A job that has waited so long in all, before its first start and after each stop, is overdue. For
// a job of several nodes waiting counts double.
constexpr Duration kServiceWaitMax = seconds(300'000);
constexpr std::int64_t kOverdueLevel = -1;

bool orders_by_service(const QueueConfig& queue);
bool orders_by_service(const Cluster& cluster, const JobTerms& terms);

// What an element has had: `ran` in all, over so long since it was submitted.
struct Service {
  std::uint32_t gpus = 0;
  std::uint32_t nodes = 0;
  Duration ran;
  Duration waited;
};
// Of an element that waits.
Service service_of(const Job& job, Element element, Instant now);
// Lower comes first, and stops higher ones. kOverdueLevel or 0…kLevelsMax.
std::int64_t level_of(const Service& service);
// For the line: as the level, but overdue ones in the order of their waiting.
std::int64_t length_of(const Service& service);
// Of the element of the job that comes next; not told apart by waiting. 0 in other queues.
std::uint32_t level_in_line(const Cluster& cluster, const Job& job);

}  // namespace muster
