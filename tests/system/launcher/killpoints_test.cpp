// faults.md F03 and F04 in short form: launcher or shepherd die at their Nth system call of a kind,
// for many N. A job runs at most once, ends with a cause, and leaves no control group behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/system/launcher/node_rig.h"

namespace muster::testing {
namespace {

struct KillPoint {
  std::string call;
  int when = 1;
};

std::vector<KillPoint> kill_points(const std::vector<std::pair<std::string, int>>& calls) {
  std::vector<KillPoint> points;
  for (const auto& one : calls) {
    for (int when = 1; when <= one.second; ++when) points.push_back({one.first, when});
  }
  return points;
}

std::vector<std::string> killer(const KillPoint& point) {
  return {"strace",
          "-D",
          "-qq",
          "-o",
          "/dev/null",
          "-e",
          "trace=" + point.call,
          "-e",
          "inject=" + point.call + ":signal=KILL:when=" + std::to_string(point.when)};
}

bool has_strace() { return ::system("strace -V >/dev/null 2>&1") == 0; }

void expect_at_most_once(NodeRig& rig, const LocalState& ended) {
  EXPECT_EQ(ended.phase, LocalPhase::kEnded);
  const std::string runs = rig.file("runs");
  EXPECT_TRUE(runs.empty() || runs == "once\n") << runs;
  if (ended.record.cause.kind == CauseKind::kCompleted) {
    EXPECT_EQ(runs, "once\n");
  }
  if (!runs.empty()) {
    EXPECT_TRUE(ended.record.launched);
  }
  if (rig.is_root()) {
    EXPECT_TRUE(eventually([&] { return rig.stray_groups() == 0; })) << rig.stray_groups();
  }
}

// In place of the shepherd that forks the others: the first set of descriptors goes to a traced
// one, so that the reaper that follows it is not traced.
void write_server(const std::string& path, const std::vector<std::string>& tracer) {
  std::ofstream out(path);
  out << "#!/usr/bin/python3\nimport fcntl, os, signal, socket\n"
      << "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\ntracer = '";
  for (const std::string& word : tracer) out << word << " ";
  out << "'.split()\nshepherd = '" << MUSTER_BINARY_DIR << "/bin/muster-shepherd'\n"
      << R"(server = socket.socket(fileno=3)
while True:
    data, fds, _, _ = socket.recv_fds(server, 1, 128)
    if not data:
        break
    if os.fork() == 0:
        for number, fd in enumerate([fcntl.fcntl(fd, fcntl.F_DUPFD, 200) for fd in fds]):
            os.dup2(fd, 3 + number)
        os.closerange(3 + len(fds), 400)
        words = tracer + [shepherd]
        os.execvp(words[0], words)
    for fd in fds:
        os.close(fd)
    tracer = []
)";
  out.close();
  ::chmod(path.c_str(), 0755);
}

TEST(KillPoints, ShepherdAtManyCalls) {
  if (!has_strace()) GTEST_SKIP() << "needs strace";
  const auto points = kill_points({{"openat", 12},
                                   {"write", 12},
                                   {"sendmsg", 4},
                                   {"ppoll", 6},
                                   {"clone3", 1},
                                   {"rename,renameat", 1},
                                   {"rmdir", 3}});
  for (const KillPoint& point : points) {
    SCOPED_TRACE(point.call + " " + std::to_string(point.when));
    NodeRig rig;
    const std::string wrapper = rig.work_path("shepherd");
    write_server(wrapper, killer(point));
    rig.start({"--shepherd", wrapper});
    const TestJob job = rig.script_job("#!/bin/sh\necho once >> runs\n");
    rig.prepare(job);
    const LocalState prepared = rig.wait(job.common.attempt, LocalPhase::kPrepared);
    if (prepared.phase == LocalPhase::kPrepared) rig.go(job);
    expect_at_most_once(rig, rig.wait(job.common.attempt, LocalPhase::kEnded, 10));
  }
}

TEST(KillPoints, LauncherAtManyCalls) {
  if (!has_strace()) GTEST_SKIP() << "needs strace";
  const auto points = kill_points({{"mkdirat", 5},
                                   {"fsync", 5},
                                   {"sendmsg", 6},
                                   {"memfd_create", 1},
                                   {"recvmsg", 8},
                                   {"poll", 8}});
  for (const KillPoint& point : points) {
    SCOPED_TRACE(point.call + " " + std::to_string(point.when));
    NodeRig rig;
    rig.run_under(killer(point));
    rig.start_may_die();
    const TestJob job = rig.script_job("#!/bin/sh\necho once >> runs\n");
    rig.prepare(job);
    if (rig.reaches(job.common.attempt, LocalPhase::kPrepared)) {
      rig.go(job);
      (void)rig.reaches(job.common.attempt, LocalPhase::kEnded);
    }
    rig.kill_launcher(SIGKILL);
    rig.run_under({});
    rig.start();
    rig.list();
    rig.prepare(job);  // A repeated order starts nothing that was started before.
    const LocalState state = rig.wait(job.common.attempt, LocalPhase::kPrepared);
    if (state.phase == LocalPhase::kPrepared) rig.go(job);
    expect_at_most_once(rig, rig.wait(job.common.attempt, LocalPhase::kEnded, 10));
  }
}

}  // namespace
}  // namespace muster::testing
