// Adding up the points.
#include "controller/core/standing.h"

#include <algorithm>

namespace muster {
namespace {

std::uint32_t part(std::uint64_t of, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<std::uint32_t>(std::min(of, whole) * kFactorOne / whole);
}

std::uint64_t ms_of(Duration time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.ms(), 0));
}

}  // namespace

std::uint32_t ShareFactors::of(const std::string& account, Uid uid) const {
  const auto found = users.find({account, uid});
  if (found != users.end()) return found->second;
  const auto newcomer = newcomers.find(account);
  return newcomer == newcomers.end() ? kFactorOne : newcomer->second;
}

PriorityFactors factors_of(const Standing& standing, const ClusterConfig& config,
                           const JobFacts& job, Duration age) {
  std::uint64_t gpus = 0;
  for (const Group& group : job.groups())
    gpus += std::uint64_t{group.nodes_min} * group.gpus_per_node;
  PriorityFactors factors;
  factors.age = part(ms_of(age), ms_of(config.priority.age_max));
  factors.fair_share = standing.factors->of(job.account(), job.uid());
  factors.size = part(gpus, standing.gpus_total);
  for (const QosConfig& qos : config.qos) {
    if (qos.name == job.qos()) factors.qos = qos.priority;
  }
  return factors;
}

std::int64_t score_of(const PriorityConfig& weights, const JobFacts& job,
                      const PriorityFactors& factors) {
  const std::int64_t own = std::int64_t{job.priority()} + factors.qos - job.nice();
  return own * kPoint + std::int64_t{weights.age} * factors.age +
         std::int64_t{weights.fair_share} * factors.fair_share +
         std::int64_t{weights.size} * factors.size;
}

std::optional<JobId> place_taken(const Job& job) {
  if (job.top() >= 0) return std::nullopt;
  return JobId{static_cast<std::uint64_t>(-job.top())};
}

}  // namespace muster
