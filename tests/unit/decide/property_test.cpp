// Over random clusters and mixes of jobs: no device, CPU or MiB has two owners, a gang has all its
// nodes or none, and what is decided does not depend on the order in which the books were filled.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/types/rng.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

struct Hello {
  std::string node;
  Inventory inventory;
};

std::vector<Hello> any_nodes(Rng& rng) {
  std::vector<Hello> nodes;
  const std::uint64_t count = rng.between(3, 14);
  for (std::uint64_t i = 1; i <= count; ++i) {
    const std::string number = std::to_string(i);
    Inventory has = World::inventory(number, static_cast<std::uint32_t>(rng.below(9)),
                                     static_cast<std::uint32_t>(rng.between(4, 32)),
                                     rng.between(8, 64) * 1024, rng.chance(500) ? "a" : "b");
    if (!has.gpus.empty() && rng.chance(200)) has.gpus.back().type = "c";
    nodes.push_back({"n" + number, has});
  }
  return nodes;
}

Group any_group(Rng& rng) {
  Group group;
  group.nodes_min = static_cast<std::uint32_t>(rng.between(1, 4));
  group.nodes_max = group.nodes_min + static_cast<std::uint32_t>(rng.below(3));
  group.gpus_per_node = static_cast<std::uint32_t>(rng.below(5));
  if (group.gpus_per_node == 1 && rng.chance(600))
    group.gpu_milli = static_cast<std::uint32_t>(rng.between(1, 9) * 100);
  group.cpus_per_node = static_cast<std::uint32_t>(rng.between(1, 6));
  group.memory_mib_per_node = rng.chance(300) ? 0 : rng.between(100, 9000);
  if (group.gpus_per_node != 0 && rng.chance(300)) group.gpu_types = {"b", "a"};
  return group;
}

NewJob any_job(Rng& rng) {
  NewJob job = World::job(1, 0);
  job.spec.groups = {any_group(rng)};
  if (rng.chance(200)) job.spec.groups.push_back(any_group(rng));
  job.spec.time_limit = minutes(static_cast<std::int64_t>(rng.between(5, 300)));
  return job;
}

// Hellos may come in any order; the nodes were enrolled in one.
void fill(World& world, const std::vector<Hello>& nodes, const std::vector<std::size_t>& order) {
  world.begin();
  for (const Hello& hello : nodes)
    world.step(EnrolNode{World::admin(), hello.node, std::string(40, 'k')});
  for (const std::size_t i : order) world.hello(nodes[i].node, nodes[i].inventory);
}

void end(World& world, const AttemptKey& key) {
  const std::vector<Member> members = world.engine.cluster().find_attempt(key)->place->members;
  const auto name = [&](const Member& member) {
    return world.engine.cluster().find_node(member.node)->name;
  };
  for (const Member& member : members) world.report(name(member), key, AttemptPhase::kPrepared);
  for (const Member& member : members)
    world.report(name(member), key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
}

std::size_t index_of(const Node& node, DeviceId device) {
  const auto found = std::find(node.device_ids.begin(), node.device_ids.end(), device);
  return static_cast<std::size_t>(found - node.device_ids.begin());
}

struct Used {
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::map<std::size_t, std::uint64_t> milli;  // By GPU.
};

void check_member(const Node& node, const Group& group, const Member& member, Used& used) {
  EXPECT_EQ(member.cpus, group.cpus_per_node);
  EXPECT_GE(member.memory_mib, group.memory_mib_per_node);
  EXPECT_EQ(member.grants.size(), group.gpus_per_node);
  used.cpus += member.cpus;
  used.memory_mib += member.memory_mib;
  std::set<DeviceId> devices;
  for (const Grant& grant : member.grants) {
    EXPECT_TRUE(devices.insert(grant.device).second);
    EXPECT_EQ(grant.milli, group.gpu_milli);
    const std::size_t index = index_of(node, grant.device);
    ASSERT_LT(index, node.inventory.gpus.size()) << "a GPU of another node";
    used.milli[index] += grant.milli;
    const auto& types = group.gpu_types;
    const std::string& type = node.inventory.gpus[index].type;
    EXPECT_TRUE(types.empty() || std::count(types.begin(), types.end(), type) == 1) << type;
  }
}

// Each group has as many nodes as it asked for, none of them twice.
void check_gang(const Cluster& cluster, const Attempt& attempt, std::map<NodeId, Used>& used) {
  const std::vector<Group>& groups = cluster.find_job(attempt.key.job)->facts().groups();
  std::vector<std::uint32_t> members(groups.size());
  std::set<NodeId> nodes;
  for (const Member& member : attempt.place->members) {
    ASSERT_LT(member.group, groups.size());
    ++members[member.group];
    EXPECT_TRUE(nodes.insert(member.node).second);
    check_member(*cluster.find_node(member.node), groups[member.group], member, used[member.node]);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_GE(members[i], groups[i].nodes_min);
    EXPECT_LE(members[i], groups[i].nodes_max);
  }
}

void check(const Cluster& cluster) {
  std::map<NodeId, Used> used;
  for (const auto& [key, attempt] : cluster.attempts()) check_gang(cluster, attempt, used);
  for (const auto& [id, here] : used) {
    const Inventory& has = cluster.find_node(id)->inventory;
    EXPECT_LE(here.cpus, has.cpus);
    EXPECT_LE(here.memory_mib, has.memory_mib);
    for (const auto& [gpu, milli] : here.milli) EXPECT_LE(milli, kMilliPerGpu);
  }
}

// What runs where, by the names of things.
std::map<AttemptKey, std::vector<std::string>> places(const Cluster& cluster) {
  std::map<AttemptKey, std::vector<std::string>> all;
  for (const auto& [key, attempt] : cluster.attempts()) {
    for (const Member& member : attempt.place->members) {
      const Node& node = *cluster.find_node(member.node);
      std::string text = node.name;
      for (const Grant& grant : member.grants)
        text += " " + std::to_string(index_of(node, grant.device));
      all[key].push_back(text);
    }
  }
  return all;
}

class Property : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Property, NothingHasTwoOwnersAndGangsAreWhole) {
  Rng rng(GetParam());
  const std::vector<Hello> nodes = any_nodes(rng);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i) order.push_back(i);
  World world;
  fill(world, nodes, order);
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    for (std::uint64_t jobs = rng.below(5); jobs > 0; --jobs) world.submit(any_job(rng));
    world.pass();
    check(world.engine.cluster());
    const auto& attempts = world.engine.cluster().attempts();
    if (!attempts.empty() && rng.chance(700)) {
      auto it = attempts.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(rng.below(attempts.size())));
      end(world, AttemptKey(it->first));
    }
    world.tick(seconds(static_cast<std::int64_t>(rng.between(1, 60))));
    for (const Hello& hello : nodes) world.step(WorkerHeard{hello.node});
  }
}

TEST_P(Property, TheOrderInWhichNodesCameDecidesNothing) {
  Rng rng(GetParam());
  const std::vector<Hello> nodes = any_nodes(rng);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i) order.push_back(i);
  World straight;
  fill(straight, nodes, order);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  World shuffled;
  fill(shuffled, nodes, order);
  for (int round = 0; round < 25 && !HasFailure(); ++round) {
    const NewJob job = any_job(rng);
    for (World* world : {&straight, &shuffled}) {
      world->submit(job);
      world->pass();
    }
    ASSERT_EQ(places(straight.engine.cluster()), places(shuffled.engine.cluster()));
    const auto& attempts = straight.engine.cluster().attempts();
    if (attempts.size() < 4 || rng.chance(500)) continue;
    auto it = attempts.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng.below(attempts.size())));
    const AttemptKey key = it->first;
    for (World* world : {&straight, &shuffled}) end(*world, key);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Property, ::testing::Range<std::uint64_t>(1, 61));

}  // namespace
}  // namespace muster
