// Orders that must not be obeyed, and peers that must not be believed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/system/launcher/node_rig.h"

namespace muster::testing {
namespace {

class HostileTest : public ::testing::Test {
 protected:
  void SetUp() override { rig_.start(); }
  // Why it was refused; empty when it was obeyed.
  std::string refusal(const LocalPrepare& prepare) {
    rig_.list();
    rig_.send(*encode_local(prepare));
    const LocalState state = rig_.wait(prepare.key, LocalPhase::kPrepared);
    if (state.phase != LocalPhase::kEnded) return "";
    EXPECT_EQ(state.record.cause.kind, CauseKind::kLaunchFailed);
    EXPECT_NE(::access(rig_.state_path("attempts/" + to_text(prepare.key)).c_str(), F_OK), 0);
    return state.record.cause.evidence;
  }
  std::string refusal_of(void (*change)(TestJob&)) {
    TestJob job = rig_.script_job("#!/bin/sh\nexit 0\n");
    change(job);
    return refusal(rig_.sign(job));
  }
  std::string refusal_at_launch(const TestJob& job) {
    rig_.prepare(job);
    const LocalState state = rig_.wait(job.common.attempt, LocalPhase::kEnded);
    EXPECT_EQ(state.record.cause.kind, CauseKind::kLaunchFailed);
    return state.record.cause.evidence;
  }
  NodeRig rig_;
};

bool mentions(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_F(HostileTest, SignaturesAndSplices) {
  const TestJob job = rig_.script_job("#!/bin/sh\nexit 0\n");
  LocalPrepare bent = rig_.sign(job);
  bent.common_signature.bytes[5] ^= 1U;
  EXPECT_EQ(refusal(bent), "order: bad signature");
  bent = rig_.sign(job);
  bent.node_signature.bytes[5] ^= 1U;
  EXPECT_EQ(refusal(bent), "order: bad signature");
  bent = rig_.sign(job);
  bent.common[40] = static_cast<char>(bent.common[40] ^ 1);
  EXPECT_EQ(refusal(bent), "order: bad signature");
  bent = rig_.sign(job);
  bent.script += "touch /tmp/x\n";
  EXPECT_EQ(refusal(bent), "order refused: script is not the one that was signed");
  bent = rig_.sign(job);
  bent.environment[0] = 'H';
  EXPECT_EQ(refusal(bent), "order refused: environment is not the one that was signed");
  TestJob other = job;
  other.common.uid = Uid{2};
  bent = rig_.sign(job);
  bent.common = rig_.sign(other).common;
  bent.common_signature = rig_.sign(other).common_signature;
  EXPECT_EQ(refusal(bent), "order refused: its two parts do not belong together");
  bent = rig_.sign(job);
  bent.key.job = JobId{999};
  EXPECT_EQ(refusal(bent), "order refused: it is for another attempt");
  EXPECT_EQ(refusal(rig_.sign(job)), "") << "the order itself is good";
}

TEST_F(HostileTest, PlaceTimeAndEpoch) {
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) { j.common.cluster.bytes[1] = 1; }), "cluster"));
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) {
                         j.common.members[0].node = "n9";
                         j.node.node = "n9";
                       }),
                       "for node n9"));
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) { j.common.expiry_s -= 400; }), "expired"));
  EXPECT_TRUE(
      mentions(refusal_of([](TestJob& j) { j.common.not_before_s += 400; }), "not valid yet"));
  EXPECT_EQ(refusal_of([](TestJob& j) { j.common.epoch = Epoch{5}; }), "");
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) { j.common.epoch = Epoch{4}; }), "epoch"));
  rig_.kill_launcher(SIGKILL);
  rig_.start();
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) { j.common.epoch = Epoch{4}; }), "epoch"));
}

TEST_F(HostileTest, Users) {
  if (!rig_.is_root()) GTEST_SKIP() << "one user only";
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) {
                         j.common.uid = Uid{0};
                         j.common.user = "root";
                       }),
                       "run no jobs"));
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) { j.common.uid = Uid{65534}; }), "run no jobs"));
  EXPECT_TRUE(
      mentions(refusal_of([](TestJob& j) { j.common.user = "bin"; }), "that uid is daemon"));
  EXPECT_TRUE(mentions(refusal_of([](TestJob& j) { j.common.uid = Uid{77777}; }), "not known"));
}

TEST_F(HostileTest, GoOfAnotherKeyIsIgnored) {
  const TestJob job = rig_.script_job("#!/bin/sh\nexit 0\n");
  rig_.prepare(job);
  const LocalState prepared = rig_.wait(job.common.attempt, LocalPhase::kPrepared);
  LocalGo go = rig_.sign_go(job, prepared.ports);
  go.signature.bytes[0] ^= 1U;
  rig_.send(*encode_local(go));
  rig_.list();
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kPrepared).phase, LocalPhase::kPrepared);
}

TEST_F(HostileTest, GroupsAreExactlyThoseOfTheOrder) {
  if (!rig_.is_root()) GTEST_SKIP() << "needs root";
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    TestJob job = rig_.script_job(
        "#!/bin/sh\ngrep -E '^(Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs)' /proc/self/status\n");
    job.common.groups.clear();
    std::string groups = count == 0 ? " " : "";
    for (std::size_t i = 0; i < count; ++i) {
      job.common.groups.push_back(static_cast<std::uint32_t>(5000 + i));
      groups += std::to_string(5000 + i) + " ";
    }
    job.common.launch.output = "ids";
    EXPECT_EQ(rig_.run(job).record.cause.kind, CauseKind::kCompleted);
    EXPECT_EQ(rig_.file("ids"), "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t" + groups +
                                    "\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                                    "NoNewPrivs:\t1\n");
  }
}

TEST_F(HostileTest, JobSeesOnlyItsOwnProcessesAndNoSecret) {
  if (!rig_.is_root()) GTEST_SKIP() << "needs root";
  const LocalState ended = rig_.run(
      rig_.script_job("#!/bin/sh\nls -d /proc/[0-9]* | wc -l\nls " + rig_.state_path("attempts") +
                      "\nls " + rig_.state_path("scripts") + "\ntouch $0.x; echo >> $0\n"));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kExited) << ended.record.cause.evidence;
  const std::string out = rig_.file("muster-1.out");
  EXPECT_LE(std::stoi(out), 5);
  EXPECT_EQ(out.find("shepherd"), std::string::npos);
  EXPECT_TRUE(mentions(out, "attempts': Permission denied"));
  EXPECT_TRUE(mentions(out, "scripts': Permission denied"));
}

TEST_F(HostileTest, DeviceFilterLetsOnlyGrantedDevicesOpen) {
  if (!rig_.is_root()) GTEST_SKIP() << "needs root";
  // /dev/full is on everybody's list; /dev/loop-control and /dev/fuse stand for GPUs.
  TestJob job = rig_.script_job(
      "#!/bin/bash\nfor d in null zero urandom full loop-control kmsg; do\n"
      "  if (exec 3</dev/$d) 2>err; then echo $d yes; else echo $d $(sed 's/.*: //' err); "
      "fi\ndone\n"
      "echo $CUDA_VISIBLE_DEVICES\n");
  job.common.uid = Uid{0};
  job.common.gid = Gid{0};
  job.common.groups = {0};
  job.common.user = "root";
  job.node.devices = {{"GPU-a", 3, 3, "/dev/loop-control"}};
  job.node.device_filter = true;
  rig_.kill_launcher(SIGTERM);
  rig_.start({"--allow-root-jobs"});
  ::chmod(rig_.work_path().c_str(), 0777);  // Root without capabilities is a user like others.
  const LocalState ended = rig_.run(job);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted) << ended.record.cause.evidence;
  EXPECT_EQ(rig_.file("muster-1.out"),
            "null yes\nzero yes\nurandom yes\nfull yes\nloop-control yes\n"
            "kmsg Operation not permitted\n0\n");
  job = rig_.script_job("exit 0\n");
  job.node.devices = {{"GPU-b", 0, 0, "/dev/no-such-gpu"}};
  job.node.device_filter = true;
  EXPECT_TRUE(mentions(refusal_at_launch(job), "/dev/no-such-gpu is not a character device here"));
}

// faults.md S12: whatever fails on the way from root to the user, nothing runs.
TEST_F(HostileTest, FailedCallsOnTheWayToTheUserRunNothing) {
  if (!rig_.is_root()) GTEST_SKIP() << "needs root";
  if (::system("strace -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs strace";
  for (const char* call : {"setgroups", "setresgid", "setresuid", "capset", "chdir"}) {
    rig_.kill_launcher(SIGKILL);
    rig_.run_under({"strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e",
                    std::string("trace=") + call, "-e",
                    std::string("inject=") + call + ":error=EPERM"});
    rig_.start();
    const TestJob job = rig_.script_job("#!/bin/sh\ntouch ran\n");
    const LocalState ended = rig_.run(job, 30);
    EXPECT_EQ(ended.record.cause.kind, CauseKind::kLaunchFailed) << call;
    EXPECT_FALSE(ended.record.launched) << call;
    EXPECT_TRUE(mentions(ended.record.cause.evidence, "Operation not permitted"))
        << call << ": " << ended.record.cause.evidence;
    EXPECT_NE(::access(rig_.work_path("ran").c_str(), F_OK), 0) << call;
  }
}

TEST_F(HostileTest, GarbageEndsTheConnectionAndNothingElse) {
  const TestJob job = rig_.command_job({"sleep", "1000"});
  rig_.prepare(job);
  rig_.wait(job.common.attempt, LocalPhase::kPrepared);
  rig_.send(std::string("\x05\0\0\0\x02zzzz", 9));
  EXPECT_TRUE(eventually([&] { return !rig_.is_connected(); }));
  rig_.reconnect();
  EXPECT_EQ(rig_.list().size(), 1U);
  rig_.send(std::string("\xff\xff\xff\xff", 4));
  EXPECT_TRUE(eventually([&] { return !rig_.is_connected(); }));
  rig_.reconnect();
  EXPECT_EQ(rig_.list().size(), 1U);
}

TEST_F(HostileTest, SecondLauncherOnTheSameStateIsRefused) {
  const std::string command = std::string(MUSTER_BINARY_DIR) + "/bin/muster-launcher --state-dir " +
                              rig_.state_path("") + " --socket /tmp/mrig-no --keys " +
                              rig_.state_path("../keys") + " --node n1 " +
                              (rig_.is_root() ? "" : "--single-user ") + "2>/dev/null";
  const int status = ::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 75);
}

}  // namespace
}  // namespace muster::testing
