// Planned starts over random clusters and queues: kept when every job runs to its limit, and
// nothing is taken twice.
#include <gtest/gtest.h>

#include "base/types/rng.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

class Queueing {
 public:
  explicit Queueing(std::uint64_t seed) : rng_(seed) {
    ClusterConfig config = World::config();
    config.queues[0].planned_starts = static_cast<std::uint32_t>(rng_.between(1, 4));
    world_.begin(config);
    const std::uint64_t nodes = rng_.between(2, 6);
    for (std::uint64_t i = 1; i <= nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      has_[name] = World::inventory(std::to_string(i), 8, 32, 64000);
      world_.add_node(name, has_[name]);
    }
    nodes_ = nodes;
  }

  // Submits jobs over time; ends each exactly at its limit; answers how many planned starts were
  // compared with what became of them.
  std::size_t run() {
    for (int i = 0; i < 30; ++i) submit();
    world_.pass();
    std::size_t compared = 0;
    for (int step = 0; step < 400 && !is_idle(); ++step) {
      look_at_plans();
      advance();
      compared += compare();
    }
    EXPECT_TRUE(is_idle());
    return compared;
  }

 private:
  void submit() {
    const bool wide = rng_.chance(300);
    NewJob job = World::job(static_cast<std::uint32_t>(wide ? rng_.between(1, nodes_) : 1),
                            static_cast<std::uint32_t>(wide ? 8 : rng_.between(0, 8)));
    job.spec.groups[0].cpus_per_node = static_cast<std::uint32_t>(rng_.between(1, wide ? 32 : 8));
    job.spec.time_limit = minutes(static_cast<std::int64_t>(rng_.between(1, 300)));
    jobs_.push_back(world_.submitted(job));
  }

  bool is_idle() const { return world_.engine.cluster().jobs_unfinished() == 0; }

  void look_at_plans() {
    for (const JobId id : jobs_) {
      const auto why = world_.engine.explain({id, {}}, world_.at);
      if (why && why->planned_at) planned_.try_emplace(id, *why->planned_at);
    }
  }

  // Launches what is preparing, goes to the next end, and ends what is due.
  void advance() {
    for (const auto& [key, attempt] : attempts()) {
      if (attempt.state != AttemptState::kPreparing) continue;
      for (const Member& member : attempt.place->members)
        world_.report(node_name(member.node), key, AttemptPhase::kPrepared);
    }
    Instant next = world_.at + hours(1000);
    for (const auto& [key, attempt] : attempts()) next = std::min(next, end_of(attempt));
    for (const auto& [name, has] : has_) world_.step(WorkerHeard{name});
    world_.at = std::max(world_.at, next);
    for (const auto& [key, attempt] : attempts()) {
      if (end_of(attempt) > world_.at) continue;
      for (const Member& member : attempt.place->members) {
        world_.report(node_name(member.node), key, AttemptPhase::kEnded,
                      World::ended(CauseKind::kCompleted));
      }
    }
    world_.pass();
  }

  std::size_t compare() {
    std::size_t compared = 0;
    for (const auto& [key, attempt] : attempts()) {
      const auto found = planned_.find(key.job);
      if (found == planned_.end() || attempt.started_at != world_.at) continue;
      EXPECT_LE(attempt.started_at, found->second) << "job " << key.job.value;
      ++compared;
    }
    return compared;
  }

  std::map<AttemptKey, Attempt> attempts() const { return world_.engine.cluster().attempts(); }
  std::string node_name(NodeId node) const { return world_.engine.cluster().find_node(node)->name; }
  Instant end_of(const Attempt& attempt) const {
    const Duration limit = world_.engine.cluster().find_job(attempt.key.job)->facts().time_limit();
    return (attempt.launched ? attempt.launched_at : attempt.started_at) + limit;
  }

  Rng rng_;
  World world_;
  std::uint64_t nodes_ = 0;
  std::map<std::string, Inventory> has_;
  std::vector<JobId> jobs_;
  std::map<JobId, Instant> planned_;  // As first seen.
};

TEST(Backfill, KeepsWhatItPlanned) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compared += Queueing(seed).run();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, 1000U);
}

// Where no end makes room, a round asks once for all jobs that want the same.
TEST(Backfill, AsksOnceWhatCannotBePlanned) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 8));
  for (int i = 0; i < 200; ++i) world.submitted(World::job(1, 8));
  world.step(ChangeNodes{World::admin(), NodeVerb::kDrain, {"n1"}, "test"});
  int steps = 0;
  do {
    world.step(SchedulePass{});
    ++steps;
  } while (world.pass_wanted);
  EXPECT_LE(steps, 3);
}

}  // namespace
}  // namespace muster
