// What a job sees and how its end is told apart, with a real launcher and real shepherds.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "tests/system/launcher/node_rig.h"

namespace muster::testing {
namespace {

class LauncherTest : public ::testing::Test {
 protected:
  void SetUp() override { rig_.start(); }
  std::string read_all(const ReceivedFrame& opened) {
    char buffer[4096];
    const ssize_t size = ::pread(opened.fd.number(), buffer, sizeof(buffer), 0);
    return std::string(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  }
  NodeRig rig_;
};

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

TEST_F(LauncherTest, RunsAScriptAsItsUser) {
  TestJob job =
      rig_.script_job("#!/bin/bash\nid -u; id -G; umask; pwd; echo $GREETING; echo $0 $@\n");
  job.common.launch.argv = {"one", "two words"};
  const LocalState ended = rig_.run(job);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted) << ended.record.cause.evidence;
  EXPECT_TRUE(ended.record.launched);
  std::stringstream out(rig_.file("muster-1.out"));
  std::string line;
  std::getline(out, line);
  EXPECT_EQ(line, std::to_string(job.common.uid.value));
  std::getline(out, line);
  if (rig_.is_root()) {
    EXPECT_EQ(line, std::to_string(job.common.gid.value));
  }
  std::getline(out, line);
  EXPECT_EQ(line, "0027");
  std::getline(out, line);
  EXPECT_EQ(line, rig_.work_path());
  std::getline(out, line);
  EXPECT_EQ(line, "hello");
  std::getline(out, line);
  EXPECT_NE(line.find("/1.0.1-job.sh one two words"), std::string::npos) << line;
  struct stat facts {};
  ASSERT_EQ(::stat(rig_.work_path("muster-1.out").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, job.common.uid.value);
  EXPECT_EQ(facts.st_mode & 0777U, 0640U);
  EXPECT_EQ(rig_.stray_groups(), 0U);
}

bool has_v2_alone() {
  return ::geteuid() == 0 &&
         read_file("/sys/fs/cgroup/cgroup.controllers").find("memory") != std::string::npos;
}

TEST_F(LauncherTest, JobsAreBelowTheGroupItWasStartedIn) {
  if (!has_v2_alone()) GTEST_SKIP() << "needs cgroup v2 alone";
  const char* unit = ::getenv(kUnitVariable);
  const std::string top = "/sys/fs/cgroup";
  const std::string group = unit == nullptr ? "" : std::string(unit).substr(top.size());
  rig_.run(rig_.script_job("#!/bin/sh\ncat /proc/self/cgroup\n"));
  const std::string out = rig_.file("muster-1.out");
  EXPECT_EQ(out.find("0::" + group + "/muster/n1-"), 0U) << out;
  EXPECT_EQ(std::filesystem::exists(top + "/muster"), unit == nullptr);
}

TEST(LauncherGroup, IsTheOneItWasTold) {
  if (!has_v2_alone()) GTEST_SKIP() << "needs cgroup v2 alone";
  const std::string group = "/sys/fs/cgroup/muster-test-jobs";
  std::filesystem::create_directory(group);
  {
    NodeRig rig;
    rig.start({"--cgroup", "/muster-test-jobs"});
    TestJob job = rig.script_job("#!/bin/sh\ncat /proc/self/cgroup\n");
    job.node.memory_mib = 64;
    rig.run(job);
    EXPECT_EQ(rig.file("muster-1.out").find("0::/muster-test-jobs/muster/n1-"), 0U);
  }
  std::filesystem::remove(group + "/muster");
  EXPECT_TRUE(std::filesystem::remove(group)) << "something is left in it";
}

TEST_F(LauncherTest, TellsExitStatusAndSignalApart) {
  LocalState ended = rig_.run(rig_.script_job("exit 3\n"));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kExited) << ended.record.cause.evidence;
  EXPECT_EQ(ended.record.cause.exit_status, 3);
  EXPECT_EQ(ended.record.cause.rank, 0);
  EXPECT_EQ(ended.record.cause.node, "n1");
  ended = rig_.run(rig_.command_job({"sh", "-c", "kill -USR1 $$"}));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kSignalled);
  EXPECT_EQ(ended.record.cause.signal, SIGUSR1);
}

TEST_F(LauncherTest, EnvironmentOfTasksIsExact) {
  TestJob job = rig_.tasks_job(2, "#!/bin/sh\nexec env -u PWD -u _ -u SHLVL\n");
  job.environment += std::string("RANK=9\0MUSTER_PYTHON=x\0A=\0", 26);
  job.common.launch.output = "env-%t";
  job.common.launch.cpus_per_task = 3;
  job.common.queue = "gpu";
  job.common.account = "lab";
  job.common.submit_host = "login1";
  job.common.time_limit_s = 60;
  job.node.devices = {{"GPU-a", 0, 0, ""}, {"GPU-b", 1, 1, ""}};
  const LocalState ended = rig_.run(job);
  ASSERT_EQ(ended.record.cause.kind, CauseKind::kCompleted) << ended.record.cause.evidence;
  const std::string port = std::to_string(ended.ports.at(0));
  std::set<std::string> expected{"GREETING=hello",
                                 "PATH=/usr/bin:/bin",
                                 "MUSTER_PYTHON=x",
                                 "A=",
                                 "MUSTER_JOB_ID=1",
                                 "MUSTER_JOB_NAME=test",
                                 "MUSTER_ATTEMPT=1",
                                 "MUSTER_QUEUE=gpu",
                                 "MUSTER_ACCOUNT=lab",
                                 "MUSTER_SUBMIT_DIR=" + rig_.work_path(),
                                 "MUSTER_SUBMIT_HOST=login1",
                                 "MUSTER_TIME_LIMIT_S=60",
                                 "MUSTER_CPUS_PER_TASK=3",
                                 "MUSTER_NODELIST=n1",
                                 "MUSTER_NNODES=1",
                                 "MUSTER_NODE_RANK=0",
                                 "MUSTER_NODE_NAME=n1",
                                 "MUSTER_NTASKS=2",
                                 "MUSTER_TASKS_ON_NODE=2",
                                 "MUSTER_CPUS_ON_NODE=1",
                                 "MUSTER_MEMORY_MIB_ON_NODE=512",
                                 "MUSTER_GPUS_ON_NODE=2",
                                 "MUSTER_GPU_UUIDS=GPU-a,GPU-b",
                                 "MUSTER_MASTER_ADDR=127.0.0.1",
                                 "MUSTER_MASTER_PORT=" + port,
                                 "MUSTER_PORTS=" + port,
                                 "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                 "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b",
                                 "RANK=1",
                                 "LOCAL_RANK=1",
                                 "WORLD_SIZE=2",
                                 "LOCAL_WORLD_SIZE=2",
                                 "GROUP_RANK=0",
                                 "MUSTER_GROUP=0",
                                 "NODE_RANK=0",
                                 "MASTER_ADDR=127.0.0.1",
                                 "MASTER_PORT=" + port,
                                 "OMP_NUM_THREADS=3",
                                 "HOME=" + rig_.work_path(),
                                 "USER=" + job.common.user,
                                 "LOGNAME=" + job.common.user,
                                 "SHELL=/bin/sh"};
  EXPECT_EQ(lines_of(rig_.file("env-1")), expected);
  EXPECT_EQ(lines_of(rig_.file("env-0")).count("LOCAL_RANK=0"), 1U);
}

// Bound to CPUs of its own, and as root confined to those of the job.
TEST_F(LauncherTest, RanksAreBoundToTheirCpus) {
  cpu_set_t cpus;
  ASSERT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  if (!CPU_ISSET(0, &cpus) || !CPU_ISSET(1, &cpus)) GTEST_SKIP() << "needs CPUs 0 and 1";
  const std::string script =
      "#!/bin/sh\npython3 -c 'import os; print(os.sched_getaffinity(0)); "
      "os.sched_setaffinity(0, {0, 1}); print(os.sched_getaffinity(0))' 2>/dev/null\n"
      "echo $MUSTER_CPU_LIST $MUSTER_HCA\n";
  TestJob job = rig_.tasks_job(2, script);
  job.common.launch.output = "pin-%t";
  job.pins = {{{1}, "mlx5_1"}, {{1}, ""}};
  const LocalState ended = rig_.run(job);
  ASSERT_EQ(ended.record.cause.kind, CauseKind::kCompleted) << ended.record.cause.evidence;
  EXPECT_EQ(ended.cpus, (std::vector<std::uint32_t>{1}));
  for (const std::string& warning : ended.warnings) {
    EXPECT_EQ(warning.find("pinned"), std::string::npos) << warning;
    EXPECT_EQ(warning.find("cpuset"), std::string::npos) << warning;
  }
  const bool has_cpusets = has_v2_alone() || std::filesystem::exists("/sys/fs/cgroup/cpuset");
  const std::string wide = rig_.is_root() && has_cpusets ? "{1}" : "{0, 1}";
  EXPECT_EQ(rig_.file("pin-0"), "{1}\n" + wide + "\n1 mlx5_1\n");
  EXPECT_EQ(rig_.file("pin-1"), "{1}\n" + wide + "\n1\n");
}

TEST_F(LauncherTest, CpusThatAreNotThereAreAWarning) {
  TestJob job = rig_.tasks_job(1, "#!/bin/sh\nexit 0\n");
  job.pins = {{{4000, 4001}, ""}};
  const LocalState ended = rig_.run(job);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted) << ended.record.cause.evidence;
  std::string said;
  for (const std::string& warning : ended.warnings) said += warning + "; ";
  EXPECT_NE(said.find("not pinned to CPUs 4000-4001: "), std::string::npos) << said;
}

TEST_F(LauncherTest, ScriptModeHasNoRank) {
  TestJob job = rig_.script_job("#!/bin/sh\nenv\n");
  job.environment += std::string("LOCAL_RANK=3\0", 13);
  rig_.run(job);
  const std::string out = rig_.file("muster-1.out");
  EXPECT_EQ(out.find("\nRANK="), std::string::npos);
  EXPECT_EQ(out.find("LOCAL_RANK="), std::string::npos);
  EXPECT_EQ(out.find("WORLD_SIZE="), std::string::npos);
  EXPECT_NE(out.find("MUSTER_JOB_ID=1"), std::string::npos);
}

TEST_F(LauncherTest, FourRanksShareOneFileWithoutLosingALine) {
  std::string script = "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do echo $RANK $i; done\n";
  const LocalState ended = rig_.run(rig_.tasks_job(4, script));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted);
  EXPECT_EQ(lines_of(rig_.file("muster-1.out")).size(), 36U);
}

TEST_F(LauncherTest, FirstFailingRankEndsTheOthers) {
  const LocalState ended =
      rig_.run(rig_.tasks_job(4, "#!/bin/sh\n[ $RANK = 2 ] && exit 5\nexec sleep 1000\n"));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kExited) << ended.record.cause.evidence;
  EXPECT_EQ(ended.record.cause.exit_status, 5);
  EXPECT_EQ(ended.record.cause.rank, 2);
  EXPECT_LT(ended.record.ran.seconds(), 10);
}

TEST_F(LauncherTest, TimeLimitEndsItWithSigtermFirst) {
  TestJob job = rig_.script_job("#!/bin/bash\ntrap 'echo saved; exit 0' TERM\nsleep 1000 & wait\n");
  job.common.time_limit_s = 1;
  const LocalState ended = rig_.run(job);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kTimedOut);
  EXPECT_EQ(rig_.file("muster-1.out"), "saved\n");
  EXPECT_GE(ended.record.ran.ms(), 1000);
  EXPECT_LT(ended.record.ran.ms(), 2500);
}

TEST_F(LauncherTest, CancelLeavesNoProcess) {
  TestJob job = rig_.script_job(
      "#!/bin/bash\ntrap '' TERM\n"
      "setsid bash -c 'trap \"\" TERM; sleep 1011' &\n"
      "(setsid bash -c '(sleep 1012 &) ; sleep 1013' &)\n"
      "echo ready; sleep 1014; sleep 1015\n");
  job.common.kill_wait_s = 1;
  rig_.prepare(job);
  rig_.wait(job.common.attempt, LocalPhase::kPrepared);
  rig_.go(job);
  ASSERT_TRUE(eventually([&] { return rig_.file("muster-1.out") == "ready\n"; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  rig_.kill(job.common.attempt, "user kim (uid 1003)");
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kStopping).phase, LocalPhase::kStopping);
  const LocalState ended = rig_.wait(job.common.attempt, LocalPhase::kEnded);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCancelled);
  EXPECT_EQ(ended.record.cause.by, "user kim (uid 1003)");
  for (const char* one : {"1011", "1012", "1013", "1014", "1015"}) {
    const std::string look = std::string("grep -lsz '^") + one + "$' /proc/[0-9]*/cmdline";
    EXPECT_NE(::system((look + " >/dev/null").c_str()), 0) << one << " lives";
  }
  EXPECT_EQ(rig_.stray_groups(), 0U);
}

TEST_F(LauncherTest, LeftoversGoWithTheScript) {
  const LocalState ended = rig_.run(rig_.script_job("#!/bin/sh\nsetsid sleep 1021 &\nexit 0\n"));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted);
  EXPECT_NE(::system("grep -lsz '^1021$' /proc/[0-9]*/cmdline >/dev/null"), 0);
}

TEST_F(LauncherTest, OutOfMemoryIsNamed) {
  if (!rig_.is_root()) GTEST_SKIP() << "needs root for a memory limit";
  TestJob job = rig_.command_job({"/usr/bin/python3", "-c", "x = bytearray(300 << 20)"});
  job.node.memory_mib = 100;
  const LocalState ended = rig_.run(job);
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kOutOfMemory) << ended.record.cause.evidence;
  EXPECT_GE(ended.record.memory_peak_mib, 90U);
  // A child's death counts too, whatever its parent makes of it.
  job = rig_.script_job("#!/bin/sh\n/usr/bin/python3 -c 'x = bytearray(300 << 20)'; exit 0\n");
  job.node.memory_mib = 100;
  EXPECT_EQ(rig_.run(job).record.cause.kind, CauseKind::kOutOfMemory);
}

TEST_F(LauncherTest, WhatTheUserMayNotDoFailsWithStepAndErrno) {
  const auto evidence = [&](auto change) {
    TestJob job = rig_.script_job("#!/bin/sh\ntouch ran\n");
    change(job);
    const LocalState ended = rig_.run(job);
    EXPECT_EQ(ended.record.cause.kind, CauseKind::kLaunchFailed);
    EXPECT_FALSE(ended.record.launched);
    return ended.record.cause.evidence;
  };
  EXPECT_EQ(evidence([](TestJob& j) { j.common.launch.cwd = "/no/such"; }),
            "chdir /no/such: No such file or directory (errno 2)");
  if (rig_.is_root()) {
    EXPECT_EQ(evidence([](TestJob& j) { j.common.launch.cwd = "/root/x"; }),
              "chdir /root/x: Permission denied (errno 13)");
    EXPECT_EQ(evidence([](TestJob& j) { j.common.launch.output = "/etc/muster-test"; }),
              "open output /etc/muster-test: Permission denied (errno 13)");
  }
  EXPECT_EQ(evidence([](TestJob& j) { j.common.launch.output = "/dev/full"; }),
            "open output /dev/full: not a regular file");
  ASSERT_EQ(::mkfifo(rig_.work_path("fifo").c_str(), 0666), 0);
  ASSERT_EQ(::chmod(rig_.work_path("fifo").c_str(), 0666), 0);
  EXPECT_NE(evidence([](TestJob& j) { j.common.launch.output = "fifo"; }).find("fifo"),
            std::string::npos);
  EXPECT_NE(evidence([](TestJob& j) { j.script = "#!/no/such\n"; }).find("(errno 2)"),
            std::string::npos);
  EXPECT_EQ(::access(rig_.work_path("ran").c_str(), F_OK), -1);
}

TEST_F(LauncherTest, OpenModesMkdirAndBanner) {
  TestJob job = rig_.script_job("#!/bin/sh\necho out; echo err >&2\n");
  job.common.launch.output = "a/b/out-%x-%u-%N-%n-%t-%r-%%";
  job.common.launch.error = "a/err";
  job.common.launch.make_directories = true;
  job.common.job_name = "na/me";
  EXPECT_EQ(rig_.run(job).record.cause.kind, CauseKind::kCompleted);
  EXPECT_EQ(rig_.file("a/b/out-na_me-" + job.common.user + "-n1-0-0-1-%"), "out\n");
  EXPECT_EQ(rig_.file("a/err"), "err\n");
  TestJob again = rig_.script_job("#!/bin/sh\necho out\n");
  again.common.launch.output = "a/err";
  again.common.append_banner = true;
  again.common.attempt.attempt = AttemptNo{2};
  rig_.run(again);
  EXPECT_EQ(rig_.file("a/err"), "err\n===== muster: attempt 2 of job 2 on n1 =====\nout\n");
  again = rig_.script_job("#!/bin/sh\necho new\n");
  again.common.launch.output = "a/err";
  rig_.run(again);
  EXPECT_EQ(rig_.file("a/err"), "new\n");
}

TEST_F(LauncherTest, LogsAreReadWhileItRuns) {
  TestJob job = rig_.script_job("#!/bin/sh\necho first; sleep 1000\n");
  rig_.prepare(job);
  rig_.wait(job.common.attempt, LocalPhase::kPrepared);
  rig_.go(job);
  ASSERT_TRUE(eventually([&] { return rig_.file("muster-1.out") == "first\n"; }));
  ReceivedFrame opened = rig_.open_log(job.common.attempt, -1);
  ASSERT_TRUE(opened.fd.is_open()) << decode_local<LocalLogOpened>(opened.frame)->error;
  EXPECT_EQ(read_all(opened), "first\n");
  EXPECT_EQ(::write(opened.fd.number(), "x", 1), -1) << "the worker could write the user's file";
  EXPECT_FALSE(rig_.open_log(job.common.attempt, 7).fd.is_open());
  rig_.kill(job.common.attempt, "test", 0);
  rig_.wait(job.common.attempt, LocalPhase::kEnded);
  opened = rig_.open_log(job.common.attempt, 0);
  EXPECT_FALSE(opened.fd.is_open()) << "what a user's file has is read there";
  EXPECT_EQ(decode_local<LocalLogOpened>(opened.frame)->error,
            "this node keeps no output of that attempt or rank");
}

TEST_F(LauncherTest, SecondNodeHoldsAndNeverWritesTheFirstOnesFile) {
  TestJob job = rig_.script_job("#!/bin/sh\necho no\n");
  job.common.members = {{"n0", 0, 1, 0}, {"n1", 1, 1, 0}};
  job.node.member = 1;
  rig_.prepare(job);
  EXPECT_TRUE(rig_.wait(job.common.attempt, LocalPhase::kPrepared).ports.empty());
  rig_.go(job);
  rig_.wait(job.common.attempt, LocalPhase::kRunning);
  rig_.kill(job.common.attempt, "gang: the first node is done");
  EXPECT_TRUE(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.launched);
  EXPECT_EQ(rig_.file("muster-1.out"), "");
  TestJob tasks = rig_.tasks_job(1, "#!/bin/sh\necho rank $RANK\n");
  tasks.common.members = {{"n0", 0, 1, 0}, {"n1", 1, 1, 0}};
  tasks.node.member = 1;
  EXPECT_EQ(rig_.run(tasks).record.cause.kind, CauseKind::kCompleted);
  EXPECT_EQ(::access(rig_.work_path("muster-2.out").c_str(), F_OK), -1);
  EXPECT_EQ(read_all(rig_.open_log(tasks.common.attempt, 1)), "rank 1\n");
}

TEST_F(LauncherTest, SignalsReachTheTasks) {
  TestJob job = rig_.script_job(
      "#!/bin/bash\ntrap 'echo got it; exit 0' USR2\necho ready\nwhile :; do sleep 0.05; done\n");
  rig_.prepare(job);
  rig_.wait(job.common.attempt, LocalPhase::kPrepared);
  rig_.go(job);
  ASSERT_TRUE(eventually([&] { return rig_.file("muster-1.out") == "ready\n"; }));
  LocalSignal message;
  message.key = job.common.attempt;
  message.signal = SIGUSR2;
  rig_.send(*encode_local(message));
  EXPECT_EQ(rig_.wait(job.common.attempt, LocalPhase::kEnded).record.cause.kind,
            CauseKind::kCompleted);
  EXPECT_EQ(rig_.file("muster-1.out"), "ready\ngot it\n");
}

TEST_F(LauncherTest, TorchrunIsStartedWithOurRendezvous) {
  TestJob job = rig_.script_job("print('hi')\n");
  job.common.launch.mode = LaunchMode::kTorchrun;
  job.common.launch.script_name = "train.py";
  job.common.launch.argv = {"--lr", "1"};
  job.node.devices = {{"GPU-a", 0, 0, ""}, {"GPU-b", 1, 1, ""}};
  const std::string torchrun = rig_.work_path("torchrun");
  FILE* out = ::fopen(torchrun.c_str(), "w");
  ::fputs("#!/bin/sh\necho \"$@\"\necho broken > $TORCHELASTIC_ERROR_FILE\nexit 1\n", out);
  ::fclose(out);
  ::chmod(torchrun.c_str(), 0755);
  job.environment = "PATH=" + rig_.work_path() + ":/bin" + std::string(1, '\0');
  const LocalState ended = rig_.run(job);
  EXPECT_EQ(ended.record.cause.exit_status, 1);
  EXPECT_EQ(ended.record.cause.evidence, "broken ");
  const std::string expected =
      "--nnodes 1 --nproc_per_node 2 --rdzv_id 1.1 --rdzv_backend c10d --rdzv_endpoint 127.0.0.1:" +
      std::to_string(ended.ports.at(0)) + " --max_restarts 0 ";
  const std::string words = rig_.file("muster-1.out");
  EXPECT_EQ(words.substr(0, expected.size()), expected);
  EXPECT_NE(words.find("1.0.1-train.py --lr 1\n"), std::string::npos);
}

TEST_F(LauncherTest, LimitsOfTheTasks) {
  const LocalState ended = rig_.run(rig_.script_job(
      "#!/bin/bash\nulimit -Sc; ulimit -Sn; ulimit -Hn; ls /proc/self/fd | wc -l\n"));
  EXPECT_EQ(ended.record.cause.kind, CauseKind::kCompleted);
  std::stringstream out(rig_.file("muster-1.out"));
  std::string core, soft, hard, files;
  out >> core >> soft >> hard >> files;
  EXPECT_EQ(core, "0");
  EXPECT_EQ(soft == hard || std::stoi(soft) >= 131072, true);
  EXPECT_EQ(files, "4");  // 0, 1, 2 and the directory ls reads.
}

}  // namespace
}  // namespace muster::testing
