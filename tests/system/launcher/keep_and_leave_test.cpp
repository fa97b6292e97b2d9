// What a launcher keeps of attempts that are over, what it does when no shepherd can be started,
// what it takes up again on SIGHUP, and what it leaves behind when it stops.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/system/launcher/node_rig.h"
#include "worker/launcher/store.h"

namespace muster::testing {
namespace {

class KeepTest : public ::testing::Test {
 protected:
  void SetUp() override { rig_.start(); }

  // On the second node of two, so that its output is in no file of the user's.
  AttemptKey run_and_forget(const std::string& script) {
    TestJob job = rig_.tasks_job(2, script);
    job.common.members = {{"n0", 0, 1, 0}, {"n1", 1, 2, 0}};
    job.node.member = 1;
    EXPECT_EQ(rig_.run(job).record.cause.kind, CauseKind::kCompleted);
    LocalForget forget;
    forget.key = job.common.attempt;
    rig_.send(*encode_local(forget));
    EXPECT_EQ(rig_.list().size(), 0U);
    return job.common.attempt;
  }

  std::string output(const AttemptKey& key, std::int32_t rank, bool errors = false) {
    ReceivedFrame opened = rig_.open_log(key, rank, errors);
    const Result<LocalLogOpened> answer = decode_local<LocalLogOpened>(opened.frame);
    if (!opened.fd.is_open()) return answer.ok() ? answer->error : "?";
    char buffer[4096];
    const ssize_t size = ::pread(opened.fd.number(), buffer, sizeof(buffer), 0);
    return std::string(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  }

  std::string kept_path(const AttemptKey& key) { return rig_.state_path("kept/" + to_text(key)); }
  void age(const AttemptKey& key, std::int64_t seconds) {
    const timespec then{wall_seconds() - seconds, 0};
    const timespec times[2] = {then, then};
    EXPECT_EQ(::utimensat(AT_FDCWD, kept_path(key).c_str(), times, 0), 0);
  }
  void restart() {
    rig_.kill_launcher(SIGKILL);
    rig_.start();
    rig_.list();
  }

  NodeRig rig_;
  const std::string none_ = "this node keeps no output of that attempt or rank";
};

TEST_F(KeepTest, OutputInNoFileOutlivesTheAttempt) {
  const AttemptKey key = run_and_forget("#!/bin/sh\necho rank $RANK\necho error $RANK >&2\n");
  EXPECT_FALSE(std::filesystem::exists(rig_.state_path("attempts/" + to_text(key))));
  EXPECT_FALSE(std::filesystem::exists(kept_path(key) + "/exit"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(output(key, 1), "rank 1\nerror 1\n");
    EXPECT_EQ(output(key, 2), "rank 2\nerror 2\n");
    EXPECT_EQ(output(key, -1), "rank 1\nerror 1\n");
    EXPECT_EQ(output(key, 2, true), "rank 2\nerror 2\n") << "errors went to the output";
    EXPECT_EQ(output(key, 3), none_);
    restart();
  }
  EXPECT_EQ(output({JobId{99}, Element{0}, AttemptNo{1}}, -1), none_);
}

TEST_F(KeepTest, WhatAFileHasIsNotKept) {
  const TestJob job = rig_.script_job("#!/bin/sh\necho out\n");
  rig_.run(job);
  LocalForget forget;
  forget.key = job.common.attempt;
  rig_.send(*encode_local(forget));
  EXPECT_EQ(rig_.list().size(), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(rig_.state_path("kept")));
}

TEST_F(KeepTest, TheOldestGoesWhenTheTimeOrTheRoomIsUsedUp) {
  const AttemptKey old = run_and_forget("#!/bin/sh\necho old\n");
  const AttemptKey large = run_and_forget("#!/bin/sh\necho large\n");
  const AttemptKey small = run_and_forget("#!/bin/sh\necho small\n");
  age(old, kKeptSeconds + 60);
  age(large, 3600);
  restart();
  EXPECT_EQ(output(old, 1), none_);
  EXPECT_FALSE(std::filesystem::exists(kept_path(old)));
  EXPECT_EQ(output(large, 1), "large\n");
  std::filesystem::resize_file(kept_path(large) + "/out.1", kKeptBytesMax - 100);
  age(large, 3600);
  restart();
  EXPECT_EQ(output(large, 2), "large\n");
  const AttemptKey last = run_and_forget("#!/bin/sh\nyes | head -c 2000\n");
  EXPECT_EQ(output(large, 2), none_);
  EXPECT_EQ(output(small, 1), "small\n");
  EXPECT_EQ(output(last, 1).size(), 2000U);
}

TEST_F(KeepTest, AShepherdThatCannotBeStartedIsALaunchFailure) {
  const auto refused = [this] {
    const TestJob job = rig_.script_job("#!/bin/sh\ntouch ran\n");
    rig_.prepare(job);
    const LocalState ended = rig_.wait(job.common.attempt, LocalPhase::kEnded);
    EXPECT_EQ(ended.record.cause.kind, CauseKind::kLaunchFailed);
    EXPECT_EQ(ended.record.cause.retry, Retry::kElsewhere);
    EXPECT_EQ(ended.record.cause.node, "n1");
    EXPECT_FALSE(ended.record.launched);
    EXPECT_EQ(rig_.list().back().phase, LocalPhase::kEnded);
    rig_.kill_launcher(SIGKILL);
    return ended.record.cause.evidence;
  };
  rig_.kill_launcher(SIGKILL);
  rig_.start({"--shepherd", "/no/such/program"});
  EXPECT_EQ(refused(), "start /no/such/program: No such file or directory (errno 2)");
  rig_.start({"--shepherd", "/etc/passwd"});
  EXPECT_EQ(refused(), "start /etc/passwd: Permission denied (errno 13)");
  rig_.start({"--shepherd", "/bin/false"});
  const std::string evidence = refused();
  EXPECT_TRUE(evidence == "its shepherd ended before it began" ||
              evidence == "ask /bin/false: Broken pipe (errno 32)")
      << evidence;
  rig_.start({"--shepherd", std::string(MUSTER_BINARY_DIR) + "/bin/muster-shepherd"});
  EXPECT_EQ(rig_.list().size(), 3U);
  EXPECT_EQ(rig_.run(rig_.script_job("#!/bin/sh\n")).record.cause.kind, CauseKind::kCompleted);
  EXPECT_NE(::access(rig_.work_path("ran").c_str(), F_OK), 0);
}

TEST_F(KeepTest, HangUpOpensTheLogAndReadsTheKeysAgain) {
  rig_.kill_launcher(SIGTERM);
  const std::string log = rig_.state_path("../launcher.log");
  rig_.start({"--log-file", log});
  const TestJob running = rig_.command_job({"sleep", "1000"});
  rig_.prepare(running);
  rig_.wait(running.common.attempt, LocalPhase::kPrepared);
  rig_.go(running);
  rig_.wait(running.common.attempt, LocalPhase::kRunning);
  std::filesystem::rename(log, log + ".1");
  const std::string keys = rig_.state_path("../keys");
  const std::string good = read_file(keys);
  std::ofstream(keys) << "nonsense\n";
  ::kill(rig_.launcher_pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] {
    return read_file(log).find("the old keys stay") != std::string::npos;
  })) << read_file(log);
  const LocalState fine = rig_.run(rig_.script_job("#!/bin/sh\n"));
  EXPECT_EQ(fine.record.cause.kind, CauseKind::kCompleted) << fine.record.cause.evidence;
  Result<PinnedKeys> pinned = parse_pinned_keys(good);
  ASSERT_TRUE(pinned.ok());
  pinned->keys = {SigningKey::generate(1).pinned()};
  std::ofstream(keys) << pinned_keys_text(*pinned);
  ::kill(rig_.launcher_pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] {
    const TestJob job = rig_.script_job("#!/bin/sh\n");
    rig_.prepare(job);
    const LocalState state = rig_.wait(job.common.attempt, LocalPhase::kPrepared);
    return state.record.cause.evidence.find("signature") != std::string::npos;
  })) << "the key that is gone is still good";
  EXPECT_EQ(rig_.wait(running.common.attempt, LocalPhase::kRunning).phase, LocalPhase::kRunning);
  rig_.kill(running.common.attempt, "test", 0);
  EXPECT_EQ(rig_.wait(running.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kCancelled);
}

TEST_F(KeepTest, AStoppedLauncherLeavesNoGroupUnlessSomethingRuns) {
  if (!rig_.is_root()) GTEST_SKIP() << "needs root";
  const TestJob job = rig_.command_job({"sleep", "1000"});
  rig_.prepare(job);
  rig_.wait(job.common.attempt, LocalPhase::kPrepared);
  rig_.go(job);
  rig_.wait(job.common.attempt, LocalPhase::kRunning);
  rig_.kill_launcher(SIGTERM);
  EXPECT_FALSE(rig_.groups().empty());
  rig_.start();
  rig_.list();
  rig_.kill(job.common.attempt, "test", 0);
  rig_.wait(job.common.attempt, LocalPhase::kEnded);
  LocalForget forget;
  forget.key = job.common.attempt;
  rig_.send(*encode_local(forget));
  rig_.list();
  EXPECT_FALSE(rig_.groups().empty());
  rig_.kill_launcher(SIGTERM);
  EXPECT_TRUE(eventually([&] { return rig_.groups().empty(); })) << rig_.groups().front();
}

}  // namespace
}  // namespace muster::testing
