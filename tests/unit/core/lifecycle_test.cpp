// A gang from submit to its end, and what a restart in between changes: nothing.
#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster {
namespace {

TEST(Lifecycle, GangRunsEndToEnd) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 4));
  world.add_node("n2", World::inventory("2", 4));
  const JobId job = world.submitted(World::job(2, 4));
  EXPECT_TRUE(world.pass_wanted);
  world.step(SchedulePass{});
  EXPECT_EQ(world.count_effects<SendPrepare>(), 2U);
  const AttemptKey key{job, {}, AttemptNo{1}};
  world.report("n1", key, AttemptPhase::kPreparing);
  world.report("n1", key, AttemptPhase::kPrepared);
  EXPECT_EQ(world.count_effects<SendGo>(), 0U);
  world.report("n2", key, AttemptPhase::kPrepared);
  EXPECT_EQ(world.count_effects<SendGo>(), 2U);
  EXPECT_EQ(world.attempt(job)->state, AttemptState::kRunning);
  EXPECT_EQ(world.attempt(job)->master_address(), "10.0.0.1");
  EXPECT_EQ(world.attempt(job)->ports(), std::vector<std::uint16_t>{29500});
  world.at = world.at + seconds(10);
  world.report("n1", key, AttemptPhase::kRunning);
  world.report("n2", key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
  EXPECT_EQ(world.count_effects<SendForget>(), 1U);
  EXPECT_EQ(world.state(job), ElementState::kActive);
  world.report("n1", key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
  EXPECT_EQ(world.state(job), ElementState::kEnded);
  EXPECT_EQ(world.attempt(job), nullptr);
  const auto& events = world.journal.back().events;
  ASSERT_EQ(events.size(), 3U);
  const auto& ended = std::get<AttemptEnded>(events[1]);
  EXPECT_EQ(ended.charged, seconds(10));
  EXPECT_EQ(ended.gpu_milli_ms, 8U * 1000 * 10000);
  EXPECT_EQ(ended.cpu_ms, 2U * 10000);
  EXPECT_EQ(world.engine.cluster().digest(), world.digest_of_replay());
}

TEST(Lifecycle, RestartInMidRunGoesOn) {
  World before;
  before.begin();
  before.add_node("n1", World::inventory("1", 4));
  const JobId job = before.submitted(World::job(1, 2));
  before.pass();
  const AttemptKey key{job, {}, AttemptNo{1}};
  before.report("n1", key, AttemptPhase::kPrepared);
  World after;
  for (const Record& record : before.journal) after.engine.replay(record);
  EXPECT_EQ(after.engine.cluster().digest(), before.engine.cluster().digest());
  after.at = before.at;
  after.begin();
  AttemptReport running{key, AttemptPhase::kRunning, Epoch{1}, {}, std::nullopt};
  after.hello("n1", World::inventory("1", 4), {running});
  EXPECT_EQ(after.count_effects<SendPrepare>(), 0U);
  EXPECT_EQ(after.count_effects<SendGo>(), 0U);
  EXPECT_EQ(after.count_effects<SendKill>(), 0U);
  after.report("n1", key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
  EXPECT_EQ(after.state(job), ElementState::kEnded);
}

TEST(Lifecycle, FailingRankEndsTheGang) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 4));
  world.add_node("n2", World::inventory("2", 4));
  const JobId job = world.submitted(World::job(2, 1));
  world.pass();
  const AttemptKey key{job, {}, AttemptNo{1}};
  world.report("n1", key, AttemptPhase::kPrepared);
  world.report("n2", key, AttemptPhase::kPrepared);
  ExitRecord failed = World::ended(CauseKind::kExited, 3);
  failed.cause.rank = 1;
  world.report("n2", key, AttemptPhase::kEnded, failed);
  EXPECT_EQ(world.count_effects<SendKill>(), 1U);
  world.report("n1", key, AttemptPhase::kEnded, World::ended(CauseKind::kCancelled));
  const std::optional<Ending> ending =
      world.engine.cluster().find_job(job)->find_ending(Element{0});
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->cause.kind, CauseKind::kExited);
  EXPECT_EQ(ending->cause.exit_status, 3);
  EXPECT_EQ(ending->cause.node, "n2");
  EXPECT_EQ(ending->cause.rank, 1);
}

}  // namespace
}  // namespace muster
