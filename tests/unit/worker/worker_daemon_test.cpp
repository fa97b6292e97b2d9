// The whole worker process but main(): between a controller and a launcher that come, go and
// misbehave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "rig.h"

namespace muster::testing {
namespace {

using ::testing::Contains;
using ::testing::Not;

ControllerMessage with_prepare(const WorkerRig& rig, std::uint64_t job) {
  ControllerMessage message;
  message.prepares.push_back(rig.prepare(key_of(job)));
  return message;
}

ReportPhase last_phase(const FakeController& controller, std::uint64_t job) {
  ReportPhase phase = ReportPhase::kUnknown;
  for (const ReportPart& report : controller.reports) {
    if (report.key == key_of(job)) phase = report.phase;
  }
  return phase;
}

TEST(WorkerDaemon, AnAttemptLivesFromPrepareToForget) {
  WorkerRig rig;
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  const HelloPart& hello = rig.controller->hellos[0];
  EXPECT_EQ(hello.node, "n1");
  EXPECT_FALSE(hello.boot_id.empty());
  EXPECT_GT(hello.inventory.cpus, 0U);
  EXPECT_EQ(hello.inventory.address, "127.0.0.1");
  EXPECT_TRUE(hello.attempts.empty());

  rig.controller->send(with_prepare(rig, 1));
  ASSERT_TRUE(
      rig.turn_until([&] { return last_phase(*rig.controller, 1) == ReportPhase::kPrepared; }));
  EXPECT_EQ(rig.controller->reports.back().ports, std::vector<std::uint16_t>{40000});
  ControllerMessage go;
  go.goes.push_back(rig.go(key_of(1)));
  rig.controller->send(go);
  ASSERT_TRUE(
      rig.turn_until([&] { return last_phase(*rig.controller, 1) == ReportPhase::kRunning; }));
  ControllerMessage kill;
  kill.kills.push_back({key_of(1), "user kim", seconds(3)});
  rig.controller->send(kill);
  ASSERT_TRUE(
      rig.turn_until([&] { return last_phase(*rig.controller, 1) == ReportPhase::kEnded; }));
  ASSERT_EQ(rig.launcher->kills.size(), 1U);
  EXPECT_EQ(rig.launcher->kills[0].by, "user kim");
  EXPECT_EQ(rig.launcher->kills[0].grace_ms, 3000);
  ControllerMessage forget;
  forget.forgets.push_back(key_of(1));
  rig.controller->send(forget);
  EXPECT_TRUE(rig.turn_until([&] { return rig.launcher->attempts.empty(); }));
}

TEST(WorkerDaemon, HeartbeatsComeAsOftenAsTheControllerWishes) {
  WorkerRig rig;
  rig.start_worker();
  EXPECT_TRUE(rig.turn_until([&] { return rig.controller->heartbeats >= 3; }, 5000));
}

TEST(WorkerDaemon, SaysNothingWhileTheLauncherIsAway) {
  WorkerRig rig;
  rig.launcher.reset();
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->fresh == 1; }));
  rig.turn_for(500);
  EXPECT_TRUE(rig.controller->hellos.empty());
  rig.launcher = std::make_unique<FakeLauncher>(rig.config.launcher);
  rig.launcher->state_of(key_of(7)).phase = LocalPhase::kRunning;
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  ASSERT_EQ(rig.controller->hellos[0].attempts.size(), 1U);
  EXPECT_EQ(rig.controller->hellos[0].attempts[0].phase, ReportPhase::kRunning);
}

TEST(WorkerDaemon, ALauncherThatRestartsMeansANewHello) {
  WorkerRig rig;
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  rig.launcher->state_of(key_of(3)).phase = LocalPhase::kEnded;
  rig.launcher->drop_connection();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 2; }));
  ASSERT_EQ(rig.controller->hellos[1].attempts.size(), 1U);
  EXPECT_TRUE(rig.controller->hellos[1].attempts[0].record.has_value());
}

TEST(WorkerDaemon, ARestartedControllerHearsEverythingAgain) {
  WorkerRig rig;
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  rig.controller->send(with_prepare(rig, 1));
  ASSERT_TRUE(
      rig.turn_until([&] { return last_phase(*rig.controller, 1) == ReportPhase::kPrepared; }));
  const KeyPair key = rig.controller->key;
  const std::string endpoint = rig.config.controller;
  rig.controller.reset();
  rig.launcher->say([&] {
    LocalState state = rig.launcher->state_of(key_of(1));
    state.phase = LocalPhase::kEnded;
    return state;
  }());
  rig.turn_for(300);
  rig.controller = std::make_unique<FakeController>(6, key, endpoint);
  rig.controller->admit(load_key(rig.config.key_file)->public_key, "n1");
  ASSERT_TRUE(rig.turn_until([&] { return !rig.controller->hellos.empty(); }, 20000));
  ASSERT_EQ(rig.controller->hellos.back().attempts.size(), 1U);
  EXPECT_EQ(rig.controller->hellos.back().attempts[0].phase, ReportPhase::kEnded);
}

TEST(WorkerDaemon, ARestartedWorkerIsANewIncarnationWithTheSameAttempts) {
  WorkerRig rig;
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  rig.controller->send(with_prepare(rig, 1));
  ASSERT_TRUE(
      rig.turn_until([&] { return last_phase(*rig.controller, 1) == ReportPhase::kPrepared; }));
  rig.stop_worker();
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 2; }));
  EXPECT_GT(rig.controller->hellos[1].incarnation, rig.controller->hellos[0].incarnation);
  ASSERT_EQ(rig.controller->hellos[1].attempts.size(), 1U);
}

TEST(WorkerDaemon, NonsenseOrdersAreDropped) {
  WorkerRig rig;
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  ControllerMessage message = with_prepare(rig, 1);
  message.prepares[0].common_order.resize(10);
  message.prepares.push_back(rig.prepare(key_of(2)));
  message.prepares.back().node_signature.pop_back();
  GoPart go = rig.go(key_of(1));
  go.go_order = "nonsense";
  message.goes.push_back(go);
  message.prepares.push_back(rig.prepare(key_of(3)));
  rig.controller->send(message);
  ASSERT_TRUE(
      rig.turn_until([&] { return last_phase(*rig.controller, 3) == ReportPhase::kPrepared; }));
  EXPECT_THAT(rig.launcher->orders, Not(Contains(LocalType::kGo)));
  EXPECT_EQ(rig.launcher->attempts.size(), 1U);
}

TEST(WorkerDaemon, ARefusedWorkerStaysAndTriesLater) {
  WorkerRig rig;
  rig.controller->refuse_with = "not you";
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  rig.turn_for(500);
  EXPECT_EQ(rig.controller->hellos.size(), 1U);
}

// The bar is a thousand attempts a second through one worker; sanitizers and a busy machine are
// given a quarter.
TEST(WorkerDaemon, CarriesManyAttempts) {
  constexpr std::uint64_t kAttempts = 2000;
  WorkerRig rig;
  rig.start_worker();
  ASSERT_TRUE(rig.turn_until([&] { return rig.controller->hellos.size() == 1; }));
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t job = 1; job <= kAttempts; ++job) rig.controller->send(with_prepare(rig, job));
  std::size_t seen = 0;
  std::uint64_t prepared = 0;
  std::uint64_t running = 0;
  const auto count = [&] {
    for (; seen < rig.controller->reports.size(); ++seen) {
      const ReportPart& report = rig.controller->reports[seen];
      if (report.phase == ReportPhase::kRunning) ++running;
      if (report.phase != ReportPhase::kPrepared) continue;
      ++prepared;
      ControllerMessage message;
      message.goes.push_back(rig.go(report.key));
      rig.controller->send(message);
    }
    return running == kAttempts;
  };
  ASSERT_TRUE(rig.turn_until(count, 60000)) << prepared << " prepared, " << running << " running";
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  RecordProperty("attempts_per_second", static_cast<int>(kAttempts / took.count()));
  std::printf("attempts per second: %.0f\n", kAttempts / took.count());
  EXPECT_GT(kAttempts / took.count(), 250);
}

}  // namespace
}  // namespace muster::testing
