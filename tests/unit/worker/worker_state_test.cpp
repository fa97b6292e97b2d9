// The pure worker: what it says to whom, and when it says nothing.
#include <gtest/gtest.h>

#include "worker/core/worker.h"

namespace muster {
namespace {

AttemptKey key(std::uint64_t job) { return {JobId{job}, Element{0}, AttemptNo{1}}; }

HeldAttempt held(std::uint64_t job, HeldPhase phase) {
  HeldAttempt attempt{key(job), phase, Epoch{5}, {}, {}};
  if (phase == HeldPhase::kEnded) attempt.record.emplace();
  return attempt;
}

class Worker : public testing::Test {
 protected:
  WorkerOutput step(const WorkerInput& input) { return state.step(input, now); }
  void connect_all() {
    step(LauncherConnected{});
    step(LauncherListed{});
    step(ControllerMet{});
    step(ControllerWelcomed{Epoch{5}, seconds(2)});
  }
  WorkerState state;
  Instant now;
};

TEST_F(Worker, SaysHelloOnlyWithAWholeList) {
  EXPECT_FALSE(step(ControllerMet{}).say_hello);
  EXPECT_TRUE(step(LauncherConnected{}).ask_list);
  EXPECT_TRUE(step(LauncherSaid{held(1, HeldPhase::kRunning)}).attempts.empty());
  const WorkerOutput out = step(LauncherListed{});
  EXPECT_TRUE(out.say_hello);
  ASSERT_EQ(out.attempts.size(), 1U);
  EXPECT_EQ(out.attempts[0].key, key(1));
}

TEST_F(Worker, ReportsEachChangeOnce) {
  connect_all();
  EXPECT_TRUE(step(PrepareAsked{key(1), Epoch{5}}).pass_on);
  EXPECT_EQ(step(LauncherSaid{held(1, HeldPhase::kPreparing)}).attempts.size(), 1U);
  EXPECT_EQ(step(LauncherSaid{held(1, HeldPhase::kPreparing)}).attempts.size(), 0U);
  EXPECT_EQ(step(LauncherSaid{held(1, HeldPhase::kPrepared)}).attempts.size(), 1U);
  EXPECT_TRUE(step(GoAsked{key(1), Epoch{5}}).pass_on);
  EXPECT_EQ(step(LauncherSaid{held(1, HeldPhase::kRunning)}).attempts.size(), 1U);
  const WorkerOutput back = step(LauncherSaid{held(1, HeldPhase::kPrepared)});
  EXPECT_TRUE(back.attempts.empty());
  EXPECT_FALSE(back.remark.empty());
  EXPECT_EQ(step(LauncherSaid{held(1, HeldPhase::kEnded)}).attempts.size(), 1U);
  EXPECT_TRUE(step(ForgetAsked{key(1)}).pass_on);
  EXPECT_EQ(state.attempts_held(), 0U);
}

TEST_F(Worker, RepeatedOrdersAreAnsweredWithWhatIs) {
  connect_all();
  step(PrepareAsked{key(1), Epoch{5}});
  const WorkerOutput early = step(PrepareAsked{key(1), Epoch{5}});
  EXPECT_FALSE(early.pass_on);
  EXPECT_TRUE(early.attempts.empty());
  step(LauncherSaid{held(1, HeldPhase::kRunning)});
  const WorkerOutput again = step(PrepareAsked{key(1), Epoch{5}});
  EXPECT_FALSE(again.pass_on);
  ASSERT_EQ(again.attempts.size(), 1U);
  EXPECT_EQ(again.attempts[0].phase, HeldPhase::kRunning);
  EXPECT_FALSE(step(GoAsked{key(1), Epoch{5}}).pass_on);
  step(LauncherSaid{held(1, HeldPhase::kEnded)});
  const WorkerOutput kill = step(KillAsked{key(1)});
  EXPECT_FALSE(kill.pass_on);
  EXPECT_EQ(kill.attempts.size(), 1U);
}

TEST_F(Worker, AKillOfTheUnknownReachesTheLauncher) {
  connect_all();
  EXPECT_TRUE(step(KillAsked{key(9)}).pass_on);
  EXPECT_FALSE(step(SignalAsked{key(9)}).pass_on);
}

TEST_F(Worker, LowerEpochsAreFenced) {
  connect_all();
  const WorkerOutput out = step(PrepareAsked{key(1), Epoch{4}});
  EXPECT_FALSE(out.pass_on);
  EXPECT_FALSE(out.remark.empty());
  EXPECT_FALSE(step(GoAsked{key(1), Epoch{4}}).pass_on);
}

TEST_F(Worker, ALostLauncherMeansANewHello) {
  connect_all();
  step(PrepareAsked{key(1), Epoch{5}});
  step(LauncherSaid{held(1, HeldPhase::kRunning)});
  step(PrepareAsked{key(2), Epoch{5}});  // Never answered: lost with the launcher.
  step(PrepareAsked{key(3), Epoch{5}});
  step(LauncherSaid{held(3, HeldPhase::kEnded)});
  step(LauncherGone{});
  EXPECT_FALSE(step(PrepareAsked{key(4), Epoch{5}}).pass_on);
  EXPECT_FALSE(step(KillAsked{key(1)}).pass_on);
  step(LauncherConnected{});
  step(LauncherSaid{held(1, HeldPhase::kRunning)});
  const WorkerOutput out = step(LauncherListed{});
  EXPECT_TRUE(out.say_hello);
  ASSERT_EQ(out.attempts.size(), 2U);  // An end that was told is not taken back.
  EXPECT_EQ(out.attempts[0].key, key(1));
  EXPECT_EQ(out.attempts[1].key, key(3));
}

TEST_F(Worker, WhatIsNotAnsweredYetIsStillListed) {
  connect_all();
  step(PrepareAsked{key(1), Epoch{5}});
  const WorkerOutput out = step(ControllerMet{});
  EXPECT_TRUE(out.say_hello);
  ASSERT_EQ(out.attempts.size(), 1U);
  EXPECT_EQ(out.attempts[0].phase, HeldPhase::kPreparing);
}

TEST_F(Worker, HeartbeatsFillSilence) {
  EXPECT_FALSE(step(ClockTicked{}).heartbeat);
  connect_all();
  now = now + seconds(1);
  EXPECT_FALSE(step(ClockTicked{}).heartbeat);
  now = now + seconds(1);
  EXPECT_TRUE(step(ClockTicked{}).heartbeat);
  EXPECT_FALSE(step(ClockTicked{}).heartbeat);
  EXPECT_TRUE(step(InventoryChanged{}).say_inventory);
}

TEST_F(Worker, OnlyTheEndedIsForgotten) {
  connect_all();
  step(PrepareAsked{key(1), Epoch{5}});
  step(LauncherSaid{held(1, HeldPhase::kRunning)});
  EXPECT_FALSE(step(ForgetAsked{key(1)}).pass_on);
  EXPECT_TRUE(state.is_live(key(1)));
}

TEST_F(Worker, ContradictionsOfTheLauncherAreRefused) {
  connect_all();
  HeldAttempt lie = held(1, HeldPhase::kEnded);
  lie.record.reset();
  EXPECT_FALSE(step(LauncherSaid{lie}).remark.empty());
  EXPECT_EQ(state.attempts_held(), 0U);
}

}  // namespace
}  // namespace muster
