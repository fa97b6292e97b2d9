// gpusubmit against a gateway: what travels, retries under one request id, waiting, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/system/cli/fake_gateway.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ChangeReply job_17() { return {{JobId{17}}, {}}; }

JobRow ended_row(CauseKind kind, std::int32_t exit_status) {
  JobRow row;
  row.job = JobId{17};
  row.state = JobState::kEnded;
  row.reason = std::string(name_of(kind));
  row.exit_status = exit_status;
  return row;
}

TEST(Submit, SendsTheScriptItsOptionsAndTheEnvironment) {
  FakeGateway gateway([](const Request&) { return good(job_17()); });
  const std::string script =
      "#!/bin/bash -l\n#GPU --nodes 2 --gpus-per-node 4 --time 2h --env SEED=7\n#GPU --name "
      "demo\necho hi\n";
  write_file(scratch() + "/train.sh", script);
  const Finished ran =
      run_command(gateway, "gpusubmit --time 90 --launch tasks train.sh --lr '1 2'",
                  "umask 027; unset FOO; export LD_LIBRARY_PATH=/lib/x;");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "Submitted job 17\n");
  EXPECT_EQ(ran.err, "");
  const auto body = gateway.body_of<SubmitBody>(Verb::kSubmit);
  ASSERT_EQ(body.jobs.size(), 1U);
  const SubmitJob& job = body.jobs.front();
  EXPECT_EQ(job.spec.name, "demo");
  EXPECT_EQ(job.spec.time_limit, minutes(90));
  EXPECT_EQ(job.spec.groups.at(0).nodes_min, 2U);
  EXPECT_EQ(job.spec.groups.at(0).tasks_per_node, 4U);
  EXPECT_EQ(job.launch.mode, LaunchMode::kTasks);
  EXPECT_EQ(job.launch.script_name, "train.sh");
  EXPECT_THAT(job.launch.argv, ElementsAre("--lr", "1 2"));
  EXPECT_EQ(job.launch.cwd, scratch());
  EXPECT_EQ(job.launch.umask_bits, 027U);
  EXPECT_EQ(job.script, 1U);
  EXPECT_THAT(body.scripts, ElementsAre(script));
  EXPECT_THAT(body.environments.at(0), HasSubstr(std::string("LD_LIBRARY_PATH=/lib/x\0", 23)));
  EXPECT_THAT(body.environments.at(0), HasSubstr(std::string("SEED=7\0", 7)));
}

TEST(Submit, KeepsExportedFunctions) {
  FakeGateway gateway([](const Request&) { return good(job_17()); });
  const Finished ran = run_command(
      gateway, "bash -c 'hello() { echo hi; }; export -f hello; gpusubmit --parsable -- true'");
  EXPECT_EQ(ran.out, "17\n") << ran.err;
  const auto body = gateway.body_of<SubmitBody>(Verb::kSubmit);
  EXPECT_THAT(body.environments.at(0), HasSubstr("BASH_FUNC_hello%%=() {"));
  EXPECT_TRUE(body.jobs.at(0).launch.is_command);
  EXPECT_THAT(body.jobs.at(0).launch.argv, ElementsAre("true"));
}

TEST(Submit, RepeatsABrokenRequestUnderTheSameId) {
  std::atomic<int> calls{0};
  FakeGateway gateway(
      [&calls](const Request&) { return ++calls < 3 ? hang_up() : good(job_17()); });
  const Finished ran = run_command(gateway, "gpusubmit --timeout 20 -- true");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "Submitted job 17\n");
  const auto requests = gateway.requests();
  ASSERT_EQ(requests.size(), 3U);
  ASSERT_TRUE(requests[0].request_id.has_value());
  EXPECT_EQ(requests[0].request_id, requests[1].request_id);
  EXPECT_EQ(requests[0].request_id, requests[2].request_id);
}

TEST(Submit, TakesARequestIdAndADryRun) {
  FakeGateway gateway([](const Request&) {
    return good(ChangeReply{{}, {"the queue is closed at night"}});
  });
  const std::string uuid = "123e4567-e89b-42d3-a456-426614174000";
  const Finished ran =
      run_command(gateway, "gpusubmit --dry-run --gpus 2 --request-id " + uuid + " -- true");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "Fine, and not submitted. It would ask for\n  1 node: 1 task, 2 CPUs, 2 GPUs\n");
  EXPECT_EQ(ran.err, "gpusubmit: note: the queue is closed at night\n");
  EXPECT_TRUE(gateway.body_of<SubmitBody>(Verb::kSubmit).dry_run);
  EXPECT_EQ(to_text(*gateway.requests().at(0).request_id), uuid);
}

TEST(Submit, SaysWhenADryRunWouldStartAndWhatWouldStartSooner) {
  FakeGateway gateway([](const Request&) {
    ChangeReply reply;
    reply.trial.emplace();
    reply.trial->start_p50 = {1'800'000'000'000'000};
    reply.trial->start_p90 = {1'800'003'600'000'000};
    reply.trial->sooner = {{"--queue short", {1'799'990'000'000'000}, {1'799'990'000'000'000}}};
    return good(reply);
  });
  const Finished ran =
      run_command(gateway, "gpusubmit --dry-run --gpus 2 -- true", "TZ=UTC;export TZ;");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out,
              HasSubstr("It would start about 2027-01-15 08:00, by 2027-01-15 09:00 in 9 of 10 "
                        "cases.\n  sooner with --queue short: about 2027-01-15 05:13\n"));
  EXPECT_THAT(run_command(gateway, "gpusubmit --dry-run --json --gpus 2 -- true").out,
              HasSubstr("\"start_p90\":\"2027-01-15T09:00:00"));
}

TEST(Submit, SaysWhyTheControllerRefused) {
  FakeGateway gateway([](const Request&) {
    return bad(ErrorCode::kInvalid,
               "submit: asks for 16 GPUs on a node; the largest has 8: ask for more nodes");
  });
  const Finished ran = run_command(gateway, "gpusubmit --gpus 16 -- true");
  EXPECT_EQ(ran.status, 65);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(
      ran.err,
      "gpusubmit: submit: asks for 16 GPUs on a node; the largest has 8: ask for more nodes\n");
}

TEST(Submit, GivesUpAfterTheTimeout) {
  FakeGateway gateway(
      [](const Request&) { return bad(ErrorCode::kUnavailable, "the controller is away"); });
  const Finished ran = run_command(gateway, "gpusubmit --timeout 1 -- true");
  EXPECT_EQ(ran.status, 75) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("away"));
}

TEST(Submit, WarnsOfNodesWithoutAProcess) {
  FakeGateway gateway([](const Request&) { return good(job_17()); });
  const Finished ran = run_command(gateway, "gpusubmit --nodes 2 -- true");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("warning: --launch script starts one process, on the first node"));
}

TEST(Submit, WarnsOfNothingThatWasRefused) {
  FakeGateway gateway([](const Request&) { return bad(ErrorCode::kInvalid, "submit: no"); });
  const Finished ran = run_command(gateway, "gpusubmit --nodes 2 -- true");
  EXPECT_EQ(ran.status, 65);
  EXPECT_EQ(ran.err, "gpusubmit: submit: no\n");
}

// The first watch shows it running and then ended.
Answer life_of(const Request& request, const JobRow& end, const std::optional<Cause>& cause) {
  switch (request.verb) {
    case Verb::kSubmit:
      return good(job_17());
    case Verb::kWatch: {
      JobRow running = end;
      running.state = JobState::kRunning;
      Answer answer = good(WatchReply{false, {running}});
      answer.responses.push_back(good(WatchReply{false, {end}}).responses.front());
      for (Response& response : answer.responses) response.more = true;
      return answer;
    }
    case Verb::kJob: {
      JobReply reply;
      reply.row = end;
      reply.cause = cause;
      return good(reply);
    }
    default:
      return good(JobsReply{{end}});
  }
}

int status_after_waiting(const JobRow& end, const std::optional<Cause>& cause) {
  FakeGateway gateway([&](const Request& request) { return life_of(request, end, cause); });
  return run_command(gateway, "gpusubmit --wait -- true").status;
}

TEST(SubmitWait, ExitsAsTheJobDid) {
  Cause cause;
  EXPECT_EQ(status_after_waiting(ended_row(CauseKind::kCompleted, 0), cause), 0);
  cause.kind = CauseKind::kExited;
  cause.exit_status = 3;
  EXPECT_EQ(status_after_waiting(ended_row(CauseKind::kExited, 3), cause), 3);
  cause = {};
  cause.kind = CauseKind::kSignalled;
  cause.signal = 9;
  EXPECT_EQ(status_after_waiting(ended_row(CauseKind::kSignalled, 0), cause), 137);
  cause = {};
  cause.kind = CauseKind::kCancelled;
  EXPECT_EQ(status_after_waiting(ended_row(CauseKind::kCancelled, 0), cause), 1);
}

TEST(SubmitWait, TakesTheWorstElementOfAnArray) {
  std::atomic<int> looks{0};
  FakeGateway gateway([&looks](const Request& request) {
    JobRow fine = ended_row(CauseKind::kCompleted, 0);
    fine.is_array = true;
    JobRow failed = ended_row(CauseKind::kExited, 5);
    failed.is_array = true;
    failed.element = Element{1};
    if (request.verb == Verb::kJobs) {
      if (++looks == 1) failed.state = JobState::kRunning;  // Not all have ended yet.
      return good(JobsReply{{fine, failed}});
    }
    return life_of(request, fine, std::nullopt);
  });
  const Finished ran = run_command(gateway, "gpusubmit --wait --array 0-1 -- true");
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.err, HasSubstr("job 17_1: exited"));
}

TEST(SubmitWait, LeavesTheJobBeOnInterrupt) {
  FakeGateway gateway([](const Request& request) {
    if (request.verb == Verb::kSubmit) return good(job_17());
    JobRow running = ended_row(CauseKind::kCompleted, 0);
    running.state = JobState::kRunning;
    Answer answer = good(WatchReply{false, {running}});
    answer.responses.front().more = true;
    return answer;
  });
  const Finished ran = run_command(gateway, "timeout -s INT 1 gpusubmit --wait -- true");
  EXPECT_EQ(ran.status, 124);  // Of timeout(1): it had to send the signal.
  EXPECT_THAT(ran.err, HasSubstr("gpusubmit: job 17 goes on; gpucancel 17 ends it"));
  for (const Request& request : gateway.requests()) EXPECT_NE(request.verb, Verb::kCancel);
}

TEST(Submit, PrintsJson) {
  FakeGateway gateway([](const Request&) { return good(job_17()); });
  EXPECT_EQ(run_command(gateway, "gpusubmit --json -- true").out,
            "{\"jobs\":[17],\"notes\":[],\"trial\":null}\n");
}

}  // namespace
}  // namespace muster
