// The numbers of explain against a recount that knows nothing of the ledger, over random clusters.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/types/rng.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

struct Recount {
  std::uint32_t total = 0;
  std::uint32_t fit = 0;
  std::uint32_t able = 0;
  std::uint32_t able_up = 0;
  std::map<std::string, std::uint32_t> fit_on;  // By switch.

  // The most that may serve the wish.
  std::uint32_t fit_for(const TopologyWish& wish) const {
    if (!wish.required) return fit;
    if (!wish.name.empty()) return fit_on.count(wish.name) == 0 ? 0 : fit_on.at(wish.name);
    std::vector<std::uint32_t> counts;
    for (const auto& [name, count] : fit_on) counts.push_back(count);
    std::sort(counts.rbegin(), counts.rend());
    counts.resize(wish.kind == TopologyKind::kSwitches ? wish.count : 1);
    std::uint32_t sum = 0;
    for (const std::uint32_t count : counts) sum += count;
    return sum;
  }
};

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Use {
  std::uint64_t cpus = 0;
  std::uint64_t memory = 0;
  std::map<DeviceId, std::uint32_t> milli;
};

using Keys = std::set<AttemptKey>;

Use use_of(const Cluster& cluster, NodeId node, const Keys& gone) {
  Use use;
  for (const auto& [key, attempt] : cluster.attempts()) {
    if (gone.count(key) != 0) continue;
    for (const Member& member : attempt.place->members) {
      if (member.node != node) continue;
      use.cpus += member.cpus;
      use.memory += member.memory_mib;
      for (const Grant& grant : member.grants) use.milli[grant.device] += grant.milli;
    }
  }
  return use;
}

std::uint32_t gpus_for(const Node& node, const Group& group, const Use* use) {
  std::uint32_t count = 0;
  std::map<std::uint32_t, std::uint32_t> in_clique;
  for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i) {
    const GpuFacts& gpu = node.inventory.gpus[i];
    if (!group.gpu_types.empty() && !listed(group.gpu_types, gpu.type)) continue;
    if (gpu.memory_mib < group.gpu_memory_mib_min) continue;
    if (use != nullptr) {
      const auto used = use->milli.find(node.device_ids[i]);
      const std::uint32_t milli = used == use->milli.end() ? 0 : used->second;
      if (gpu.state != DeviceState::kReady || milli + group.gpu_milli > 1000) continue;
    }
    count = group.one_clique ? std::max(count, ++in_clique[gpu.clique]) : count + 1;
  }
  return count;
}

std::uint64_t memory_for(const Node& node, const Group& group) {
  if (group.exclusive || group.memory_all) return node.inventory.memory_mib;
  if (group.memory_mib_per_node != 0) return group.memory_mib_per_node;
  if (group.gpus_per_node != 0 && !node.inventory.gpus.empty()) {
    return node.inventory.memory_mib * group.gpus_per_node * group.gpu_milli /
           (1000 * node.inventory.gpus.size());
  }
  return node.inventory.cpus == 0
             ? 0
             : node.inventory.memory_mib * group.cpus_per_node / node.inventory.cpus;
}

// The wishes of this test, each told by hand.
bool wish_granted(const Node& node, const Group& group) {
  const auto has = [&](const char* name) { return listed(node.inventory.features, name); };
  const std::string wish = to_text(group.wish);
  if (wish == "ib|big") return has("ib") || has("big");
  if (wish == "ib&(big|new)") return has("ib") && (has("big") || has("new"));
  if (wish == "ib&new|big") return (has("ib") && has("new")) || has("big");
  return wish.empty();
}

Recount recount(const Engine& engine, const Job& job, const Keys& gone = {}) {
  const Cluster& cluster = engine.cluster();
  const Group& group = job.facts().groups()[0];
  const QueueConfig& queue = *cluster.find_queue(job.facts().queue());
  Recount result;
  for (const auto& [id, node] : cluster.nodes()) {
    if (!queue.nodes.empty() && !listed(queue.nodes, node.name)) continue;
    ++result.total;
    bool able = group.nodes_only.empty() || listed(group.nodes_only, node.name);
    able = able && !listed(group.nodes_excluded, node.name);
    for (const std::string& feature : group.features)
      able = able && listed(node.inventory.features, feature);
    able = able && wish_granted(node, group);
    able = able && gpus_for(node, group, nullptr) >= group.gpus_per_node;
    able = able && node.inventory.cpus >= group.cpus_per_node;
    able = able && node.inventory.memory_mib >= memory_for(node, group);
    result.able += able ? 1U : 0U;
    const NodeLiveness* live = engine.liveness().find_node(id);
    const bool up = node.state == NodeState::kUp && live != nullptr && live->connected;
    result.able_up += able && up ? 1U : 0U;
    const Use use = use_of(cluster, id, gone);
    const bool fits = able && up && gpus_for(node, group, &use) >= group.gpus_per_node &&
                      (!group.exclusive || use.cpus == 0) &&
                      use.cpus + group.cpus_per_node <= node.inventory.cpus &&
                      use.memory + memory_for(node, group) <= node.inventory.memory_mib;
    result.fit += fits ? 1U : 0U;
    for (const SwitchConfig& each : cluster.config().switches) {
      if (listed(each.nodes, node.name)) result.fit_on[each.name] += fits ? 1U : 0U;
    }
  }
  return result;
}

class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed) : rng_(seed) {
    ClusterConfig config = World::config();
    QueueConfig some = config.queues[0];
    some.name = "some";
    some.priority = 3;
    for (std::uint64_t i = 1; i <= 6; ++i) some.nodes.push_back("n" + std::to_string(i));
    config.queues.push_back(some);
    config.switches = {{"s1", {"n1", "n2", "n3", "n4"}, {}, false},
                       {"s2", {"n5", "n6", "n7"}, {}, false},
                       {"s3", {"n8", "n9"}, {}, false}};
    world.begin(config);
    nodes_ = rng_.between(1, 12);
    for (std::uint64_t i = 1; i <= nodes_; ++i) add_node(std::to_string(i));
  }

  void fill() {
    const std::uint64_t jobs = rng_.between(1, 20);
    for (std::uint64_t i = 0; i < jobs; ++i) submit();
    world.pass();
    disturb();
    for (int i = 0; i < 3; ++i) submit();
    world.pass();
  }

  World world;

 private:
  std::string pick(std::vector<std::string> from) { return from[rng_.below(from.size())]; }

  void add_node(const std::string& name) {
    Inventory has = World::inventory(name, static_cast<std::uint32_t>(rng_.below(9)),
                                     static_cast<std::uint32_t>(rng_.between(4, 32)),
                                     rng_.between(8000, 64000), pick({"a100", "h100"}));
    for (GpuFacts& gpu : has.gpus) {
      gpu.clique = gpu.index / 2;
      if (rng_.chance(100)) gpu.type = "v100";
      if (rng_.chance(50)) gpu.state = DeviceState::kQuarantined;
      if (rng_.chance(100)) gpu.memory_mib = 40000;
    }
    if (rng_.chance(500)) has.features = {"ib"};
    if (rng_.chance(300)) has.features.push_back("big");
    if (rng_.chance(300)) has.features.push_back("new");
    world.add_node("n" + name, has);
  }

  void submit() {
    NewJob job = World::job(static_cast<std::uint32_t>(rng_.between(1, 4)),
                            static_cast<std::uint32_t>(rng_.below(6)));
    Group& group = job.spec.groups[0];
    if (rng_.chance(300)) job.spec.queue = "some";
    group.cpus_per_node = static_cast<std::uint32_t>(rng_.between(1, 16));
    group.memory_mib_per_node = rng_.chance(300) ? 0 : rng_.between(1, 40000);
    if (group.gpus_per_node != 0 && rng_.chance(200)) group.gpu_milli = 400;
    if (rng_.chance(300)) group.gpu_types = {pick({"a100", "h100"})};
    if (rng_.chance(100)) group.gpu_memory_mib_min = 60000;
    if (rng_.chance(200)) group.features = {"ib"};
    if (rng_.chance(100)) group.nodes_excluded = {"n1"};
    const bool only = rng_.chance(100);
    for (std::uint64_t i = 1; i <= std::min<std::uint64_t>(nodes_, 4) && only; ++i)
      group.nodes_only.push_back("n" + std::to_string(i));
    if (rng_.chance(200))
      group.wish = parse_wish(pick({"ib|big", "ib&(big|new)", "ib&new|big"}))->all;
    if (rng_.chance(150) && group.gpu_milli == kMilliPerGpu) group.exclusive = true;
    if (rng_.chance(100)) group.memory_all = true;
    if (group.memory_all) group.memory_mib_per_node = 0;
    if (rng_.chance(200)) group.nodes_max += 2;
    if (rng_.chance(150) && group.gpus_per_node == 2) group.one_clique = true;
    if (rng_.chance(200)) job.spec.topology = {TopologyKind::kSwitch, 0, "", true};
    if (rng_.chance(100)) job.spec.topology = {TopologyKind::kSwitch, 0, "s1", true};
    if (rng_.chance(100)) job.spec.topology = {TopologyKind::kSwitches, 2, "", true};
    if (rng_.chance(100)) job.spec.topology = {TopologyKind::kSwitch, 0, "", false};
    job.spec.time_limit = minutes(static_cast<std::int64_t>(rng_.between(1, 600)));
    world.submit(job);
  }

  void disturb() {
    for (std::uint64_t i = 1; i <= nodes_; ++i) {
      const std::string name = "n" + std::to_string(i);
      if (rng_.chance(150))
        world.step(ChangeNodes{World::admin(), NodeVerb::kDrain, {name}, "test"});
      if (rng_.chance(100)) world.step(WorkerLost{name});
    }
  }

  Rng rng_;
  std::uint64_t nodes_ = 0;
};

void compare(const World& world, const Job& job, const Explanation& why) {
  const Recount naive = recount(world.engine, job);
  const std::uint32_t needed = job.facts().groups()[0].nodes_min;
  std::uint32_t sum = why.nodes_fit;
  for (const Blocker& blocker : why.blockers) sum += blocker.nodes_failing;
  EXPECT_EQ(sum, why.nodes_total);
  EXPECT_EQ(why.nodes_total, naive.total);
  EXPECT_EQ(why.nodes_fit, naive.fit);
  EXPECT_EQ(why.nodes_needed, needed);
  const std::uint32_t near = naive.fit_for(job.facts().terms->topology);
  EXPECT_EQ(why.reason == WaitReason::kScattered, naive.fit >= needed && near < needed);
  if (why.reason == WaitReason::kScattered) return;
  if (why.reason == WaitReason::kKeptForOthers) {
    EXPECT_GE(near, needed);
    return;
  }
  EXPECT_LT(naive.fit, needed) << "it fits, and the pass did not start it";
  EXPECT_EQ(why.reason == WaitReason::kNeverPossible, naive.able < needed);
  EXPECT_EQ(why.reason == WaitReason::kNodesUnavailable,
            naive.able >= needed && naive.able_up < needed);
  EXPECT_EQ(why.frees_last.has_value(), why.start_latest.has_value());
  EXPECT_FALSE(why.sentence.empty());
}

Instant end_of(const World& world, const Attempt& attempt) {
  const Instant since = attempt.launched ? attempt.launched_at : attempt.started_at;
  return std::max(world.at,
                  since + world.engine.cluster().find_job(attempt.key.job)->facts().time_limit());
}

// With the ends of the named attempt and of all that end before it the job fits; without its own it
// does not.
void compare_start(const World& world, const Job& job, const Explanation& why) {
  if (why.reason == WaitReason::kKeptForOthers) return;
  const std::uint32_t needed = job.facts().groups()[0].nodes_min;
  const TopologyWish& wish = job.facts().terms->topology;
  Keys gone;
  if (!why.frees_last) {
    for (const auto& [key, attempt] : world.engine.cluster().attempts()) gone.insert(key);
    EXPECT_LT(recount(world.engine, job, gone).fit_for(wish), needed);
    return;
  }
  const Instant at = end_of(world, *world.engine.cluster().find_attempt(*why.frees_last));
  EXPECT_EQ(*why.start_latest, at);
  for (const auto& [key, attempt] : world.engine.cluster().attempts()) {
    const Instant end = end_of(world, attempt);
    if (end < at || (end == at && key < *why.frees_last)) gone.insert(key);
  }
  EXPECT_LT(recount(world.engine, job, gone).fit_for(wish), needed);
  gone.insert(*why.frees_last);
  EXPECT_GE(recount(world.engine, job, gone).fit_for(wish), needed);
}

TEST(Explain, AgreesWithARecountOverAThousandClusters) {
  std::size_t explained = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    RandomCluster random(seed);
    random.fill();
    const World& world = random.world;
    const std::uint64_t digest = world.engine.cluster().digest();
    for (const auto& [id, job] : world.engine.cluster().jobs()) {
      const auto why = world.engine.explain({id, {}}, world.at);
      EXPECT_EQ(why.has_value(), job.count(ElementState::kPending) == 1);
      if (!why) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", job " + std::to_string(id.value) + ": " +
                   why->sentence);
      compare(world, job, *why);
      compare_start(world, job, *why);
      ++explained;
    }
    EXPECT_EQ(world.engine.cluster().digest(), digest);
    if (HasFailure()) return;
  }
  EXPECT_GT(explained, 2000U);
}

}  // namespace
}  // namespace muster
