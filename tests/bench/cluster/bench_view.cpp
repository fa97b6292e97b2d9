// publish_cost: nanoseconds of the readers' view per changed job, with 100,000 jobs in it, 64
// changes a publication. Prints three numbers: median, smallest, largest of 20 rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/types/rng.h"
#include "controller/host/view.h"

namespace {

using namespace muster;

constexpr std::uint64_t kJobs = 100000;
constexpr int kChanges = 64;
constexpr int kPublications = 200;

std::shared_ptr<const JobView> job(std::uint64_t id) {
  static const auto owner = std::make_shared<const JobOwner>();
  static const auto terms = std::make_shared<const JobTerms>();
  auto facts = std::make_shared<JobFacts>();
  facts->id = JobId{id};
  facts->owner = owner;
  facts->terms = terms;
  return std::make_shared<const JobView>(Job(facts, ElementState::kPending));
}

double round_ns(View& view, Rng& rng) {
  std::vector<ViewChange> changes(kPublications);
  for (ViewChange& change : changes) {
    for (int i = 0; i < kChanges; ++i) {
      const std::uint64_t id = 1 + rng.below(kJobs);
      change.jobs.emplace_back(JobId{id}, job(id));
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const ViewChange& change : changes) view.publish(change, Epoch{1});
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / (kPublications * kChanges);
}

}  // namespace

int main() {
  View view;
  Rng rng(1);
  ViewChange all;
  for (std::uint64_t id = 1; id <= kJobs; ++id) all.jobs.emplace_back(JobId{id}, job(id));
  view.publish(all, Epoch{1});
  std::vector<double> rounds;
  for (int i = 0; i < 20; ++i) rounds.push_back(round_ns(view, rng));
  std::sort(rounds.begin(), rounds.end());
  std::printf("%.0f %.0f %.0f\n", rounds[rounds.size() / 2], rounds.front(), rounds.back());
  return 0;
}
