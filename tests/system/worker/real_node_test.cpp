// A node as it is in life: muster-worker, muster-launcher and shepherds as processes of their own,
// killed at will.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "base/message/codec.h"
#include "tests/system/launcher/node_rig.h"
#include "tests/unit/worker/rig.h"

namespace muster::testing {
namespace {

std::string bytes_of(const Signature& signature) {
  return std::string(signature.bytes.begin(), signature.bytes.end());
}

class RealNode : public ::testing::Test {
 protected:
  void SetUp() override {
    node.start();
    controller.admit(load_or_make_key(folder.path() + "/key")->public_key, "n1");
    std::ofstream(folder.path() + "/gpus.toml")
        << "[[gpu]]\ntype = \"h100\"\nmemory_mib = 80000\ncount = 4\n";
    start_worker();
    ASSERT_TRUE(turn_until([&] { return controller.hellos.size() == 1; }));
  }
  void TearDown() override {
    if (worker > 0) stop_worker(SIGTERM);
  }

  void start_worker() {
    std::vector<std::string> words{std::string(MUSTER_BINARY_DIR) + "/bin/muster-worker",
                                   "--node=n1",
                                   "--controller=" + controller.workers->socket->endpoint(),
                                   "--bulk=" + controller.bulk->socket->endpoint(),
                                   "--server-key=" + controller.key.public_key,
                                   "--key-file=" + folder.path() + "/key",
                                   "--launcher=" + node.state_path("../socket"),
                                   "--state-dir=" + folder.path(),
                                   "--address=127.0.0.1",
                                   "--gpu-plugin=fake",
                                   "--gpu-config=" + folder.path() + "/gpus.toml",
                                   "--log-file=" + folder.path() + "/log"};
    worker = ::fork();
    if (worker == 0) {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }

  int stop_worker(int signal) {
    MUSTER_ASSERT(worker > 1);
    ::kill(worker, signal);
    int status = 0;
    ::waitpid(worker, &status, 0);
    worker = -1;
    return status;
  }

  bool turn_until(const std::function<bool()>& condition, int seconds = 30) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) {
        ADD_FAILURE() << "waited in vain; the worker's log:\n" << read_file(folder.path() + "/log");
        return false;
      }
      controller.turn();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  void prepare(const TestJob& job) {
    const LocalPrepare signed_job = node.sign(job);
    ControllerMessage message;
    message.prepares.push_back({signed_job.common, bytes_of(signed_job.common_signature),
                                signed_job.node, bytes_of(signed_job.node_signature),
                                signed_job.script, signed_job.environment});
    controller.send(message);
  }
  void go(const TestJob& job, const std::vector<std::uint16_t>& ports) {
    const LocalGo order = node.sign_go(job, ports);
    ControllerMessage message;
    message.goes.push_back({order.go, bytes_of(order.signature)});
    controller.send(message);
  }
  const ReportPart* report_of(const TestJob& job, ReportPhase phase) const {
    for (const ReportPart& report : controller.reports) {
      if (report.key == job.common.attempt && report.phase == phase) return &report;
    }
    return nullptr;
  }
  bool reaches(const TestJob& job, ReportPhase phase) {
    return turn_until([&] { return report_of(job, phase) != nullptr; });
  }
  void run(const TestJob& job) {
    prepare(job);
    ASSERT_TRUE(reaches(job, ReportPhase::kPrepared));
    go(job, report_of(job, ReportPhase::kPrepared)->ports);
    ASSERT_TRUE(reaches(job, ReportPhase::kRunning));
  }
  std::string log_of(const TestJob& job) {
    std::string text;
    turn_until([&] { return !controller.bulk_route.empty(); });
    for (bool end = false; !end;) {
      LogAsk ask;
      ask.number = ++number;
      ask.key = job.common.attempt;
      ask.offset = text.size();
      ask.bytes_max = 1000;
      ask.wait_ms = 2000;
      EXPECT_TRUE(controller.bulk->socket->send(controller.bulk_route, encode(ask)).ok());
      const std::size_t before = controller.log_answers.size();
      if (!turn_until([&] { return controller.log_answers.size() > before; })) return text;
      EXPECT_EQ(controller.log_answers.back().error, "");
      text += controller.log_answers.back().data;
      end = controller.log_answers.back().end || !controller.log_answers.back().error.empty();
    }
    return text;
  }

  NodeRig node;
  Folder folder;
  FakeController controller{1};
  pid_t worker = -1;
  std::uint64_t number = 0;
};

TEST_F(RealNode, TellsItsGpus) {
  const Inventory& inventory = controller.hellos[0].inventory;
  ASSERT_EQ(inventory.gpus.size(), 4U);
  EXPECT_EQ(inventory.gpus[3].type, "h100");
}

TEST_F(RealNode, RunsAJobAndServesItsLogToTheEnd) {
  const TestJob job = node.script_job("#!/bin/sh\necho first\nsleep 1\necho last\nexit 3\n");
  run(job);
  EXPECT_NE(log_of(job).find("first\nlast\n"), std::string::npos);
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  const ReportPart* end = report_of(job, ReportPhase::kEnded);
  ASSERT_TRUE(end->record.has_value());
  EXPECT_EQ(end->record->cause.kind, CauseKind::kExited);
  EXPECT_EQ(end->record->cause.exit_status, 3);
  EXPECT_NE(log_of(job).find("first\nlast\n"), std::string::npos);  // After the end too.
}

TEST_F(RealNode, AKilledWorkerFindsItsAttemptsAgain) {
  const TestJob job = node.script_job("#!/bin/sh\nsleep 3\nexit 0\n");
  run(job);
  stop_worker(SIGKILL);
  start_worker();
  ASSERT_TRUE(turn_until([&] { return controller.hellos.size() == 2; }));
  ASSERT_EQ(controller.hellos[1].attempts.size(), 1U);
  EXPECT_EQ(controller.hellos[1].attempts[0].phase, ReportPhase::kRunning);
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  EXPECT_EQ(report_of(job, ReportPhase::kEnded)->record->cause.kind, CauseKind::kCompleted);
}

TEST_F(RealNode, AKilledLauncherIsFollowedToItsNextLife) {
  const TestJob job = node.script_job("#!/bin/sh\nsleep 3\nexit 0\n");
  run(job);
  node.kill_launcher(SIGKILL);
  node.start();
  ASSERT_TRUE(turn_until([&] { return controller.hellos.size() >= 2; }));
  ASSERT_EQ(controller.hellos.back().attempts.size(), 1U);
  EXPECT_EQ(controller.hellos.back().attempts[0].phase, ReportPhase::kRunning);
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  EXPECT_EQ(report_of(job, ReportPhase::kEnded)->record->cause.kind, CauseKind::kCompleted);
}

TEST_F(RealNode, AKillEndsWhatRuns) {
  const TestJob job = node.script_job("#!/bin/sh\nsleep 100\n");
  run(job);
  ControllerMessage message;
  message.kills.push_back({job.common.attempt, "user kim", seconds(1)});
  controller.send(message);
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  EXPECT_EQ(report_of(job, ReportPhase::kEnded)->record->cause.kind, CauseKind::kCancelled);
}

TEST_F(RealNode, AForgedOrderIsRefusedWithAReason) {
  TestJob job = node.script_job("#!/bin/sh\nexit 0\n");
  LocalPrepare forged = node.sign(job);
  forged.common_signature.bytes[5] ^= 1U;
  ControllerMessage message;
  message.prepares.push_back({forged.common, bytes_of(forged.common_signature), forged.node,
                              bytes_of(forged.node_signature), forged.script, forged.environment});
  controller.send(message);
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  EXPECT_EQ(report_of(job, ReportPhase::kEnded)->record->cause.kind, CauseKind::kLaunchFailed);
}

TEST_F(RealNode, AGoThatComesTooLateEndsTheAttempt) {
  const TestJob job = node.script_job("#!/bin/sh\nexit 0\n");
  prepare(job);
  ASSERT_TRUE(reaches(job, ReportPhase::kPrepared));
  GoOrder late = *decode_go_order(node.sign_go(job, {}).go);
  late.expiry_s = 1000;
  const std::string bytes = *encode_order(late);
  ControllerMessage message;
  message.goes.push_back({bytes, bytes_of(node.key().sign(OrderKind::kGo, bytes))});
  controller.send(message);
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  const Cause& cause = report_of(job, ReportPhase::kEnded)->record->cause;
  EXPECT_EQ(cause.kind, CauseKind::kLaunchFailed);
  EXPECT_EQ(cause.retry, Retry::kElsewhere);
}

TEST_F(RealNode, AStoppedWorkerEndsCleanlyAndTheJobGoesOn) {
  const TestJob job = node.script_job("#!/bin/sh\nsleep 2\nexit 0\n");
  run(job);
  const int status = stop_worker(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  start_worker();
  ASSERT_TRUE(reaches(job, ReportPhase::kEnded));
  EXPECT_EQ(report_of(job, ReportPhase::kEnded)->record->cause.kind, CauseKind::kCompleted);
}

}  // namespace
}  // namespace muster::testing
