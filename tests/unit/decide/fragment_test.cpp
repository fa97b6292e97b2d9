// The order in which nodes are used: it keeps what is scarce for those that need it, forgets
// nothing that fits, and does not depend on how the books came to be as they are.
#include "controller/core/decide/fragment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/types/rng.h"
#include "tests/unit/decide/site.h"

namespace muster {
namespace {

NodeId node_of(const std::optional<Place>& place) {
  return place ? place->members.front().node : NodeId{};
}

TEST(Fragments, KeepsTheTypeThatOthersNeed) {
  Site books({{64, 262144, {"h100", "h100"}}, {64, 262144, {"t4", "t4"}}});
  Group picky = ask(1);
  picky.gpu_types = {"h100"};
  for (int i = 0; i < 4; ++i) books.submit(picky);
  EXPECT_EQ(node_of(books.find(ask(1))), NodeId{2});  // Though node 1 comes first.
  EXPECT_EQ(node_of(books.find(picky)), NodeId{1});
}

TEST(Fragments, KeepsWholeGpusForThoseThatNeedThem) {
  Site books({{64, 262144, {"a", "a", "a", "a"}}});
  for (int i = 0; i < 4; ++i) books.submit(ask(4));
  for (int i = 0; i < 4; ++i) books.submit(ask(1, 300));
  ASSERT_TRUE(books.start(JobId{5}));
  const DeviceId first =
      books.cluster.attempts().begin()->second.place->members[0].grants[0].device;
  EXPECT_EQ(books.find(ask(1, 300))->members[0].grants[0].device, first);
}

TEST(Fragments, LeavesCpusForGpus) {
  // Both nodes have a GPU to spare; one has CPUs that go with it, the other more than enough.
  Site books({{4, 262144, {"a", "a"}}, {64, 262144, {"a", "a"}}});
  Group hungry = ask(1);
  for (int i = 0; i < 8; ++i) books.submit(hungry);
  Group cpus = ask(0);
  cpus.cpus_per_node = 4;
  EXPECT_EQ(node_of(books.find(cpus)), NodeId{2});
}

// Whether some node could take it, by plain looking.
bool fits_somewhere(const Site& books, const Group& group) {
  for (const NodeFree& node : books.board.ledger.nodes()) {
    if (!node.exists || gpus_free_for(group, node) < group.gpus_per_node) continue;
    if (node.cpus_free() < group.cpus_per_node) continue;
    if (node.memory_mib_free() >= memory_needed(group, node)) return true;
  }
  return false;
}

Group any_group(Rng& rng) {
  const std::uint64_t dice = rng.below(10);
  Group group = ask(static_cast<std::uint32_t>(rng.below(5)));
  if (dice < 4) group = ask(1, static_cast<std::uint32_t>(rng.between(1, 10) * 100));
  if (dice == 4) group = ask(2, 500);
  group.cpus_per_node = static_cast<std::uint32_t>(rng.between(1, 12));
  group.memory_mib_per_node = rng.chance(300) ? 0 : rng.between(100, 60000);
  if (group.gpus_per_node != 0 && rng.chance(300)) group.gpu_types = {"b"};
  if (group.gpus_per_node != 0 && rng.chance(200)) {
    group.gpu_types = {"b", "a"};
    group.gpu_types_alike = rng.chance(500);
  }
  return group;
}

class Random : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Random, NothingIsMissedAndARestartDecidesAlike) {
  Rng rng(GetParam());
  std::vector<Machine> machines;
  for (int i = 0; i < 12; ++i) {
    Machine machine{static_cast<std::uint32_t>(rng.between(8, 64)), rng.between(30000, 200000), {}};
    for (std::uint64_t gpu = rng.below(9); gpu > 0; --gpu)
      machine.gpus.push_back(rng.chance(500) ? "a" : "b");
    if (rng.chance(100)) machine.gpus.assign(20, "a");  // More than are valued.
    machines.push_back(machine);
  }
  Site books(machines);
  for (int round = 0; round < 150; ++round) {
    const JobId job = books.submit(any_group(rng));
    const Group& group = books.cluster.find_job(job)->facts().groups().front();
    const bool fits = fits_somewhere(books, group);
    if (round % 10 == 0) {
      EXPECT_EQ(books.find_in(books.rebuilt(), group), books.find(group));
    }
    EXPECT_EQ(books.start(job), fits) << "round " << round;
    const auto& attempts = books.cluster.attempts();
    if (attempts.size() > 5 && rng.chance(500)) {
      auto it = attempts.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(rng.below(attempts.size())));
      books.end(it->first);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range<std::uint64_t>(1, 21));

TEST(Fragments, ManyStatesAreNotMissed) {
  std::vector<Machine> machines;
  for (std::uint32_t i = 0; i < 3000; ++i) machines.push_back({3 + i, 262144, {"a"}});
  Site books(machines);
  books.submit(ask(1));
  Group gang = ask(1);
  gang.nodes_min = gang.nodes_max = 2900;
  const std::optional<Place> place = books.find(gang);
  ASSERT_TRUE(place);
  std::set<NodeId> nodes;
  for (const Member& member : place->members) nodes.insert(member.node);
  EXPECT_EQ(nodes.size(), 2900U);
}

JobId arrivals_counted_to(std::uint64_t jobs) {
  Arrivals arrivals;
  arrivals.advance_to(JobId{jobs});
  return arrivals.counted_to();
}

TEST(Arrivals, AMixIsDueLessOftenAsTheyGetMore) {
  EXPECT_EQ(arrivals_counted_to(7), JobId{7});
  EXPECT_EQ(arrivals_counted_to(23), JobId{16});
  EXPECT_EQ(arrivals_counted_to(24), JobId{24});
  const std::uint64_t late = arrivals_counted_to(1'000'000).value;
  EXPECT_LE(1'000'000 - late, kMixEvery);
}

TEST(Arrivals, OldOnesFade) {
  Arrivals arrivals;
  auto old_terms = std::make_shared<JobTerms>();
  old_terms->groups = {ask(1)};
  auto new_terms = std::make_shared<JobTerms>();
  new_terms->groups = {ask(8)};
  std::uint64_t id = 0;
  for (int i = 0; i < 100; ++i) arrivals.note(JobId{++id}, old_terms);
  for (std::size_t i = 0; i < 2 * (kMixJobs + kMixEvery); ++i)
    arrivals.note(JobId{++id}, new_terms);
  const std::vector<MixShape> shapes = arrivals.shapes();
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(shapes[0].ask.group.gpus_per_node, 8U);
}

}  // namespace
}  // namespace muster
