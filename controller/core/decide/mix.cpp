// Counting arrivals.
#include "controller/core/decide/mix.h"

#include <algorithm>
#include <map>

namespace muster {
namespace {

constexpr std::uint64_t kDueEachBelow = 16;  // The first few ids: each of them.

// By half as many again while there are few, then evenly.
std::uint64_t due_after(std::uint64_t due) {
  if (due < kDueEachBelow) return due + 1;
  return due + std::min(due / 2, kMixEvery);
}

std::uint64_t elements_of(const JobTerms& terms) {
  if (terms.array.ranges.empty()) return 1;
  std::uint64_t count = 0;
  for (const IndexRange& range : terms.array.ranges)
    count += (std::uint64_t{range.last} - range.first) / std::max(range.step, 1U) + 1;
  return count;
}

}  // namespace

NodeAsk ask_of(const std::string& queue, const Group& group) {
  NodeAsk ask{group, queue};
  ask.group.nodes_min = 1;
  ask.group.nodes_max = 1;
  ask.group.tasks_per_node = 1;
  ask.group.nodes_only.clear();
  ask.group.nodes_excluded.clear();
  return ask;
}

void Arrivals::clear() { *this = Arrivals{}; }

void Arrivals::note(JobId id, const std::shared_ptr<const JobTerms>& terms) {
  const bool any = std::any_of(terms->groups.begin(), terms->groups.end(),
                               [](const Group& group) { return group.gpus_per_node != 0; });
  if (any) arrivals_.push_back({id, terms});
  if (arrivals_.size() > kMixJobs + kMixEvery) arrivals_.pop_front();
  advance_to(id);
}

void Arrivals::advance_to(JobId newest) {
  while (due_next_ <= newest.value) {
    due_ = JobId{due_next_};
    due_next_ = due_after(due_next_);
  }
}

std::vector<MixShape> Arrivals::shapes() const {
  // Terms are shared by jobs that ask alike. Sums are the same in any order.
  std::map<const JobTerms*, std::uint64_t> jobs_with;
  std::size_t jobs = 0;
  for (auto it = arrivals_.rbegin(); it != arrivals_.rend() && jobs < kMixJobs; ++it) {
    if (it->id > due_) continue;
    ++jobs;
    ++jobs_with[it->terms.get()];
  }
  std::map<NodeAsk, std::uint64_t> counts;
  for (const auto& [terms, with] : jobs_with) {
    const std::uint64_t elements = elements_of(*terms);
    for (const Group& group : terms->groups) {
      if (group.gpus_per_node == 0) continue;
      const std::uint64_t nodes = std::min(elements * group.nodes_min, kMixCountMax);
      counts[ask_of(terms->queue, group)] += with * nodes;
    }
  }
  std::vector<MixShape> shapes;
  for (const auto& [ask, count] : counts) shapes.push_back({ask, count});
  if (shapes.size() <= kMixShapesMax) return shapes;
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const MixShape& a, const MixShape& b) { return a.count > b.count; });
  shapes.resize(kMixShapesMax);
  std::sort(shapes.begin(), shapes.end(),
            [](const MixShape& a, const MixShape& b) { return a.ask < b.ask; });
  return shapes;
}

}  // namespace muster
