// Jobs on the screen: the list, one in full, and why it waits.
#include "submit/cli/job_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kNow{1796058477000000};  // 2026-11-30T17:07:57Z.

JobRow running_row() {
  JobRow row;
  row.job = JobId{17};
  row.name = "train";
  row.user = "kim";
  row.uid = Uid{1003};
  row.queue = "batch";
  row.account = "vision";
  row.state = JobState::kRunning;
  row.nodes = 2;
  row.gpus = 8;
  row.attempt = AttemptNo{1};
  row.node_list = "n[1-2]";
  row.time_limit = hours(2);
  row.submitted = WallTime{kNow.us - minutes(10).us};
  row.started = WallTime{kNow.us - seconds(312).us};
  return row;
}

class JobPrint : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

TEST_F(JobPrint, ListsJobs) {
  JobRow waiting = running_row();
  waiting.job = JobId{18};
  waiting.is_array = true;
  waiting.elements = "0-99";
  waiting.state = JobState::kPending;
  waiting.reason = "no-free-gpus";
  waiting.started = {};
  JobRow ended = running_row();
  ended.job = JobId{19};
  ended.name = "a\x1b]0;x\a";
  ended.state = JobState::kEnded;
  ended.reason = "exited";
  ended.exit_status = 3;
  ended.ended = WallTime{ended.started.us + seconds(7).us};
  const std::vector<JobRow> rows{running_row(), waiting, ended};
  EXPECT_EQ(
      jobs_table(rows, {}, kNow),
      "JOB        NAME           USER  QUEUE  STATE    TIME    LIMIT  NODES  GPUS  WHERE/WHY\n"
      "17         train          kim   batch  running  5:12  2:00:00      2     8  n[1-2]\n"
      "18_[0-99]  train          kim   batch  pending     -  2:00:00      2     8  "
      "no-free-gpus\n"
      "19         a\\x1b]0;x\\x07  kim   batch  ended    0:07  2:00:00      2     8  exited 3\n");
}

TEST_F(JobPrint, ShowsAJobInFull) {
  JobReply job;
  job.row = running_row();
  Group group;
  group.nodes_min = group.nodes_max = 2;
  group.tasks_per_node = group.gpus_per_node = group.cpus_per_node = 4;
  group.gpu_types = {"h100", "a100"};
  group.memory_mib_per_node = 65536;
  job.spec.groups.push_back(group);
  job.launch.mode = LaunchMode::kTasks;
  job.launch.cwd = "/home/kim";
  job.launch.script_name = "train.sh";
  job.launch.argv = {"--lr", "1e-3", "it's", ""};
  MemberRow member;
  member.node = "n1";
  member.tasks = 4;
  member.cpus = 4;
  member.gpu_indices = {0, 1, 2, 3};
  member.phase = "running";
  job.members.push_back(member);
  EXPECT_EQ(
      job_in_full(job, {}, kNow),
      "Job:           17\n"
      "Name:          train\n"
      "User:          kim (uid 1003)\n"
      "Queue:         batch\n"
      "Account:       vision\n"
      "Priority:      0\n"
      "State:         running\n"
      "Asks for:      2 nodes, each: 4 tasks, 4 CPUs, 4 GPUs of type h100 or a100, 64G of memory\n"
      "Attempt:       1\n"
      "Nodes:         n[1-2]\n"
      "Submitted:     2026-11-30 16:57:57\n"
      "Started:       2026-11-30 17:02:45\n"
      "Run time:      5:12\n"
      "Time limit:    2:00:00\n"
      "Command:       train.sh --lr 1e-3 'it'\\''s' ''\n"
      "Launch:        tasks\n"
      "Directory:     /home/kim\n"
      "Output:        muster-%j.out\n"
      "\n"
      "NODE  RANKS  GPUS     CPUS  MEMORY  STATE    ENDED\n"
      "n1    0-3    0,1,2,3     4       -  running  -\n");
}

TEST_F(JobPrint, SaysHowAJobEnded) {
  Cause cause;
  cause.kind = CauseKind::kExited;
  cause.exit_status = 3;
  cause.rank = 5;
  cause.node = "n2";
  cause.evidence = "RuntimeError: NaN";
  EXPECT_EQ(cause_text(cause), "exited with status 3 (rank 5 on n2): RuntimeError: NaN");
  cause = {};
  cause.kind = CauseKind::kCancelled;
  cause.by = "user kim (uid 1003)";
  EXPECT_EQ(cause_text(cause), "cancelled by user kim (uid 1003)");
  cause = {};
  cause.kind = CauseKind::kSignalled;
  cause.signal = 11;
  EXPECT_EQ(cause_text(cause), "ended by signal 11");
}

TEST_F(JobPrint, SaysWhy) {
  WhyReply why;
  why.job = JobId{17};
  why.reason = "no-free-gpus";
  why.sentence = "It needs 2 nodes with 4 free GPUs; 1 has them.";
  why.nodes_total = 4;
  why.nodes_fit = 1;
  why.nodes_needed = 2;
  why.jobs_ahead = 3;
  why.frees_last = "12.0.1";
  why.start_latest = kNow;
  why.blockers = {{"4 free GPUs", 2}, {"node is up", 1}};
  EXPECT_EQ(why_text(why, {}),
            "Job 17: It needs 2 nodes with 4 free GPUs; 1 has them.\n"
            "Reason:        no-free-gpus\n"
            "Nodes:         2 needed, 1 of 4 in the queue fit now\n"
            "Jobs ahead:    3\n"
            "Waits for:     attempt 12.0.1 to end\n"
            "Starts by:     2026-11-30 17:07, if others run to their time limits\n"
            "\n"
            "NODES  HAVE NOT\n"
            "    2  4 free GPUs\n"
            "    1  node is up\n");
}

}  // namespace
}  // namespace muster
