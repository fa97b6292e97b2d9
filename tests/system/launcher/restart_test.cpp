// Nothing is lost and nothing runs twice when launcher or shepherd die.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <set>
#include <thread>

#include "tests/system/launcher/node_rig.h"

namespace muster::testing {
namespace {

class RestartTest : public ::testing::Test {
 protected:
  void SetUp() override { rig_.start(); }
  TestJob started(const std::string& script) {
    TestJob job = rig_.script_job(script);
    rig_.prepare(job);
    rig_.wait(job.common.attempt, LocalPhase::kPrepared);
    rig_.go(job);
    rig_.wait(job.common.attempt, LocalPhase::kRunning);
    return job;
  }
  NodeRig rig_;
};

TEST_F(RestartTest, LauncherKilledFindsItsShepherdsAgain) {
  const TestJob job =
      started("#!/bin/sh\necho once >> runs\nwhile [ ! -e stop ]; do sleep 0.05; done\n");
  const TestJob waiting = rig_.script_job("#!/bin/sh\necho two > second\n");
  rig_.prepare(waiting);
  rig_.wait(waiting.common.attempt, LocalPhase::kPrepared);
  ASSERT_TRUE(eventually([&] { return rig_.file("runs") == "once\n"; }));
  const pid_t shepherd = rig_.shepherd_pid(job.common.attempt);
  rig_.kill_launcher(SIGKILL);
  rig_.start();
  ASSERT_EQ(rig_.list().size(), 2U);
  EXPECT_EQ(rig_.shepherd_pid(job.common.attempt), shepherd);
  rig_.prepare(job);  // A repeated order is answered, not obeyed.
  rig_.go(job);
  ASSERT_EQ(rig_.wait(waiting.common.attempt, LocalPhase::kPrepared).ports.size(), 1U);
  rig_.go(waiting);
  EXPECT_EQ(rig_.wait(waiting.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kCompleted);
  EXPECT_EQ(::system(("touch " + rig_.work_path("stop")).c_str()), 0);
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kCompleted);
  EXPECT_EQ(rig_.file("runs"), "once\n");
  EXPECT_EQ(rig_.file("second"), "two\n");
}

TEST_F(RestartTest, EndsWhileTheLauncherIsAwayAreToldLater) {
  const TestJob job = started("#!/bin/sh\nsleep 0.3\nexit 7\n");
  const pid_t shepherd = rig_.shepherd_pid(job.common.attempt);
  rig_.kill_launcher(SIGKILL);
  ASSERT_TRUE(eventually([&] { return !is_alive(shepherd); }));
  rig_.start();
  rig_.list();
  const LocalState ended = rig_.wait(job.common.attempt, LocalPhase::kEnded);
  EXPECT_EQ(ended.record.cause.exit_status, 7);
}

TEST_F(RestartTest, ShepherdKilledTakesItsJobAlong) {
  const TestJob job = started("#!/bin/sh\nsetsid sleep 1031 &\nexec sleep 1032\n");
  ASSERT_TRUE(eventually(
      [] { return ::system("grep -lsz '^1031$' /proc/[0-9]*/cmdline >/dev/null") == 0; }));
  end_process(rig_.shepherd_pid(job.common.attempt));
  const LocalState ended = rig_.wait(job.common.attempt, LocalPhase::kEnded, 10);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kShepherdFailed);
  EXPECT_TRUE(ended.record.launched);
  for (const char* one : {"1031", "1032"}) {
    const std::string look = std::string("grep -lsz '^") + one + "$' /proc/[0-9]*/cmdline";
    EXPECT_NE(::system((look + " >/dev/null").c_str()), 0) << one << " lives";
  }
  EXPECT_EQ(rig_.stray_groups(), 0U);
  EXPECT_NE(::access(rig_.state_path("scripts/1.0.1-job.sh").c_str(), F_OK), 0);
}

TEST_F(RestartTest, ShepherdAndLauncherKilledTogether) {
  const TestJob job = started("#!/bin/sh\nexec sleep 1041\n");
  const pid_t shepherd = rig_.shepherd_pid(job.common.attempt);
  rig_.kill_launcher(SIGKILL);
  end_process(shepherd);
  rig_.start();
  rig_.list();
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kShepherdFailed);
}

TEST_F(RestartTest, RecycledPidIsNotAdopted) {
  const TestJob job = started("#!/bin/sh\nexec sleep 1042\n");
  const pid_t shepherd = rig_.shepherd_pid(job.common.attempt);
  rig_.kill_launcher(SIGKILL);
  end_process(shepherd);
  const std::string socket =
      rig_.state_path("../run/running/" + to_text(job.common.attempt) + ".socket");
  const pid_t impostor = ::fork();
  if (impostor == 0) {
    const Result<Fd> listening = listen_local(socket, 0600);
    ::pause();
    ::_exit(listening.ok() ? 0 : 1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  rig_.start();
  rig_.list();
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kShepherdFailed);
  EXPECT_TRUE(is_alive(impostor));
  end_process(impostor);
  ::waitpid(impostor, nullptr, 0);
}

TEST_F(RestartTest, OrderedButNeverStartedIsALaunchFailure) {
  rig_.kill_launcher(SIGKILL);
  ASSERT_EQ(::system(("mkdir " + rig_.state_path("attempts/9.0.1")).c_str()), 0);
  rig_.start();
  rig_.list();
  const AttemptKey key{JobId{9}, Element{0}, AttemptNo{1}};
  const LocalState ended = rig_.wait(key, LocalPhase::kEnded);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kLaunchFailed);
  EXPECT_FALSE(ended.record.launched);
}

TEST_F(RestartTest, WhatRanBeforeARebootIsNodeFailed) {
  const TestJob job = started("#!/bin/sh\nexec sleep 1051\n");
  const TestJob done = rig_.script_job("exit 4\n");
  EXPECT_EQ(rig_.run(done).record.cause.exit_status, 4);
  const pid_t shepherd = rig_.shepherd_pid(job.common.attempt);
  rig_.kill_launcher(SIGKILL);
  end_process(shepherd);
  // As after a reboot: the run directory is empty and the boot is another.
  ASSERT_EQ(
      ::system(("rm -r " + rig_.state_path("../run") + "; echo other > " + rig_.state_path("boot"))
                   .c_str()),
      0);
  rig_.start();
  rig_.list();
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kNodeFailed);
  EXPECT_EQ(rig_.wait(done.common.attempt, LocalPhase::kEnded).record.cause.exit_status, 4);
  rig_.kill_launcher(SIGKILL);
  rig_.start();
  rig_.list();
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kNodeFailed);
}

TEST_F(RestartTest, TombstoneRefusesTheOrderThatComesLate) {
  const TestJob job = rig_.script_job("#!/bin/sh\ntouch ran\n");
  rig_.kill(job.common.attempt, "user kim (uid 1003)");
  const LocalState tomb = rig_.wait(job.common.attempt, LocalPhase::kEnded);
  EXPECT_EQ(tomb.record.cause.kind, CauseKind::kCancelled);
  EXPECT_FALSE(tomb.record.launched);
  rig_.prepare(job);
  rig_.kill_launcher(SIGKILL);
  rig_.start();
  rig_.prepare(job);
  rig_.list();
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kCancelled);
  EXPECT_NE(::access(rig_.work_path("ran").c_str(), F_OK), 0);
}

TEST_F(RestartTest, ForgottenOrderIsStillRefused) {
  const TestJob job = rig_.script_job("#!/bin/sh\necho x >> ran\n");
  rig_.run(job);
  LocalForget forget;
  forget.key = job.common.attempt;
  rig_.send(*encode_local(forget));
  EXPECT_EQ(rig_.list().size(), 0U);
  EXPECT_NE(::access(rig_.state_path("attempts/1.0.1").c_str(), F_OK), 0);
  rig_.prepare(job);
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.evidence,
            "order refused: that attempt is over");
  rig_.kill_launcher(SIGKILL);
  rig_.start();
  EXPECT_EQ(rig_.list().size(), 0U);
  rig_.prepare(job);
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.evidence,
            "order refused: that attempt is over");
  EXPECT_EQ(rig_.file("ran"), "x\n");
}

TEST_F(RestartTest, HundredAttemptsNeverShareAPort) {
  std::vector<TestJob> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(rig_.command_job({"sleep", "1000"}));
  for (TestJob& job : jobs) {
    job.common.ports = 3;
    rig_.prepare(job);
  }
  std::set<std::uint16_t> seen;
  for (const TestJob& job : jobs) {
    const LocalState state = rig_.wait(job.common.attempt, LocalPhase::kPrepared, 60);
    ASSERT_EQ(state.phase, LocalPhase::kPrepared) << state.record.cause.evidence;
    for (const std::uint16_t port : state.ports) {
      EXPECT_TRUE(seen.insert(port).second) << port;
      EXPECT_GE(port, 20000);
      EXPECT_LE(port, 20999);
    }
  }
  EXPECT_EQ(seen.size(), 300U);
  rig_.kill_launcher(SIGKILL);
  rig_.start();
  TestJob one_more = rig_.script_job(
      "#!/usr/bin/python3\nimport os, socket\ns = socket.socket()\n"
      "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
      "s.bind(('', int(os.environ['MUSTER_MASTER_PORT'])))\ns.listen()\n");
  const LocalState ended = rig_.run(one_more, 60);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted) << "could not bind over a held port";
  EXPECT_EQ(seen.count(ended.ports.at(0)), 0U);
  for (const TestJob& job : jobs) rig_.kill(job.common.attempt, "test", 0);
  for (const TestJob& job : jobs) rig_.wait(job.common.attempt, LocalPhase::kEnded, 60);
  EXPECT_EQ(rig_.stray_groups(), 0U);
}

}  // namespace
}  // namespace muster::testing
