// First come first served, EASY and shortest job first on counted nodes.
#include "controller/sim/replay/comparison.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kBehindMax = 150;  // Jobs looked at behind the first.

using JobIndex = std::uint32_t;

class Comparison {
 public:
  Comparison(ComparisonPolicy policy, const std::vector<TraceJob>& jobs, const SimNodes& nodes)
      : policy_(policy), jobs_(jobs), nodes_(nodes), runs_(jobs.size()), places_(jobs.size()) {
    free_.assign(nodes.nodes, nodes.gpus_per_node);
    on_.resize(nodes.nodes);
    gpus_free_ = std::uint64_t{nodes.nodes} * nodes.gpus_per_node;
  }

  std::vector<Run> run() {
    JobIndex next = 0;
    while (next < jobs_.size() || !ends_.empty()) {
      now_ = Instant{std::numeric_limits<std::int64_t>::max()};
      if (next < jobs_.size()) now_ = jobs_[next].submitted;
      if (!ends_.empty()) now_ = std::min(now_, ends_.top().first);
      for (; !ends_.empty() && ends_.top().first <= now_; ends_.pop()) leave(ends_.top().second);
      for (; next < jobs_.size() && jobs_[next].submitted <= now_; ++next)
        waiting_.emplace(key_of(next), next);
      pass();
    }
    return std::move(runs_);
  }

 private:
  using Waiting = std::set<std::pair<Duration, JobIndex>>;

  Duration key_of(JobIndex job) const {
    return policy_ == ComparisonPolicy::kSjfOracle ? jobs_[job].run : Duration{};
  }

  // The fullest node that holds it; whole nodes from the first on.
  bool starts(JobIndex job) {
    const std::uint32_t gpus = nodes_.gpus_on_each(jobs_[job].gpus);
    const std::uint32_t wanted = nodes_.nodes_of(jobs_[job].gpus);
    std::vector<std::uint32_t> found;
    for (std::uint32_t node = 0; node < nodes_.nodes; ++node) {
      if (free_[node] < gpus) continue;
      if (wanted > 1) {
        found.push_back(node);
        if (found.size() == wanted) break;
      } else if (found.empty() || free_[node] < free_[found[0]]) {
        found = {node};
      }
    }
    if (found.size() < wanted) return false;
    for (const std::uint32_t node : found) {
      free_[node] -= gpus;
      on_[node].push_back(job);
    }
    gpus_free_ -= std::uint64_t{gpus} * wanted;
    places_[job] = std::move(found);
    runs_[job] = {now_, now_ + jobs_[job].run};
    ends_.emplace(runs_[job].end, job);
    return true;
  }

  void leave(JobIndex job) {
    const std::uint32_t gpus = nodes_.gpus_on_each(jobs_[job].gpus);
    for (const std::uint32_t node : places_[job]) {
      free_[node] += gpus;
      gpus_free_ += gpus;
      on_[node].erase(std::find(on_[node].begin(), on_[node].end(), job));
    }
  }

  void pass() {
    if (policy_ == ComparisonPolicy::kSjfOracle) return shortest();
    while (!waiting_.empty() && starts(waiting_.begin()->second)) waiting_.erase(waiting_.begin());
    if (policy_ == ComparisonPolicy::kEasy && !waiting_.empty()) backfill();
  }

  // What did not fit once does not fit again in the same pass, nor does anything larger.
  void shortest() {
    std::uint32_t too_many = std::numeric_limits<std::uint32_t>::max();
    for (auto it = waiting_.begin(); it != waiting_.end() && gpus_free_ != 0 && too_many > 1;) {
      const std::uint32_t gpus = jobs_[it->second].gpus;
      if (gpus < too_many && starts(it->second)) {
        it = waiting_.erase(it);
      } else {
        too_many = std::min(too_many, gpus);
        ++it;
      }
    }
  }

  // When the node will have that many GPUs free.
  Instant ready_at(std::uint32_t node, std::uint32_t gpus) const {
    std::vector<std::pair<Instant, std::uint32_t>> ends;
    for (const JobIndex job : on_[node])
      ends.emplace_back(runs_[job].end, nodes_.gpus_on_each(jobs_[job].gpus));
    std::sort(ends.begin(), ends.end());
    std::uint32_t free = free_[node];
    if (free >= gpus) return now_;
    for (const auto& [end, freed] : ends) {
      free += freed;
      if (free >= gpus) return end;
    }
    return now_;
  }

  Instant shadow_of(JobIndex job) const {
    std::vector<Instant> ready;
    for (std::uint32_t node = 0; node < nodes_.nodes; ++node)
      ready.push_back(ready_at(node, nodes_.gpus_on_each(jobs_[job].gpus)));
    std::sort(ready.begin(), ready.end());
    return ready[nodes_.nodes_of(jobs_[job].gpus) - 1];
  }

  void backfill() {
    const Instant shadow = shadow_of(waiting_.begin()->second);
    auto it = std::next(waiting_.begin());
    for (std::size_t seen = 0; it != waiting_.end() && seen < kBehindMax && gpus_free_ != 0;
         ++seen) {
      const bool in_time = now_ + jobs_[it->second].run <= shadow;
      it = in_time && starts(it->second) ? waiting_.erase(it) : std::next(it);
    }
  }

  ComparisonPolicy policy_;
  const std::vector<TraceJob>& jobs_;
  SimNodes nodes_;
  Instant now_;
  std::vector<Run> runs_;
  std::vector<std::vector<std::uint32_t>> places_;  // Nodes by job.
  std::vector<std::uint32_t> free_;                 // GPUs by node.
  std::vector<std::vector<JobIndex>> on_;           // Jobs by node.
  std::uint64_t gpus_free_ = 0;
  Waiting waiting_;
  std::priority_queue<std::pair<Instant, JobIndex>, std::vector<std::pair<Instant, JobIndex>>,
                      std::greater<>>
      ends_;
};

}  // namespace

std::vector<Run> run_comparison(ComparisonPolicy policy, const std::vector<TraceJob>& jobs,
                                const SimNodes& nodes) {
  return Comparison(policy, jobs, nodes).run();
}

}  // namespace muster
