// gpuqueue, gpuinfo and gpuacct against a gateway: tables, JSON, filters, the live view.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/message/accounting.h"
#include "tests/system/cli/fake_gateway.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

JobRow pending_row() {
  JobRow row;
  row.job = JobId{18};
  row.name = "evil\x1b[31m";
  row.user = "kim";
  row.queue = "batch";
  row.state = JobState::kPending;
  row.reason = "no-free-gpus";
  row.nodes = 1;
  row.gpus = 4;
  row.submitted = WallTime{1796058477000000};
  return row;
}

TEST(Queue, ListsOnesOwnJobsUnlessAskedOtherwise) {
  FakeGateway gateway([](const Request&) { return good(JobsReply{{pending_row()}}); });
  const Finished ran = run_command(gateway, "gpuqueue");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "JOB  NAME          USER  QUEUE  STATE    TIME  LIMIT  NODES  GPUS  WHERE/WHY\n"
            "18   evil\\x1b[31m  kim   batch  pending     -      -      1     4  no-free-gpus\n");
  EXPECT_EQ(gateway.body_of<JobsBody>(Verb::kJobs).users.size(), 1U);
  FakeGateway other([](const Request&) { return good(JobsReply{}); });
  run_command(other, "gpuqueue --all --state pending,ended --queue a,b --name x --name y");
  const auto body = other.body_of<JobsBody>(Verb::kJobs);
  EXPECT_TRUE(body.users.empty());
  EXPECT_THAT(body.queues, ElementsAre("a", "b"));
  EXPECT_THAT(body.names, ElementsAre("x", "y"));
  EXPECT_THAT(body.states, ElementsAre(JobState::kPending, JobState::kEnded));
  EXPECT_TRUE(body.include_ended);
}

Answer nothing_in_batch(const Request& request) {
  if (request.verb == Verb::kCancel) return bad(ErrorCode::kNotFound, "no job matches");
  if (request.verb == Verb::kAccounting) return good(AccountingReply{});
  if (request.verb != Verb::kQueues) return good(JobsReply{});
  QueuesReply reply;
  reply.rows.resize(2);
  reply.rows[0].name = "batch";
  reply.rows[1].name = "debug";
  return good(reply);
}

TEST(Queue, NamesAnUnknownQueueAndTheNearest) {
  FakeGateway gateway(nothing_in_batch);
  for (const std::string command : {"gpuqueue --all", "gpuacct --all", "gpucancel"}) {
    const Finished near = run_command(gateway, command + " --queue batch,bacth");
    EXPECT_EQ(near.status, 66) << command;
    EXPECT_THAT(near.err, HasSubstr("--queue: there is no queue bacth; did you mean batch?"));
    const Finished far = run_command(gateway, command + " --queue x");
    EXPECT_THAT(far.err, HasSubstr("there is no queue x; see them with: gpuadmin queue list"));
  }
  EXPECT_EQ(run_command(gateway, "gpuqueue --all --queue debug").status, 0);
}

TEST(Queue, PrintsJsonInUtc) {
  FakeGateway gateway([](const Request&) { return good(JobsReply{{pending_row()}}); });
  const Finished ran = run_command(gateway, "TZ=Asia/Tokyo gpuqueue --json");
  EXPECT_THAT(ran.out, HasSubstr("\"submitted\":\"2026-11-30T17:07:57Z\""));
  EXPECT_THAT(ran.out, HasSubstr("\"name\":\"evil\\u001b[31m\""));
}

TEST(Queue, AsksForFurtherPages) {
  std::atomic<int> calls{0};
  FakeGateway gateway([&calls](const Request& request) {
    auto body = decode<JobsBody>(request.body);
    JobsReply reply;
    const std::uint32_t count = ++calls == 1 ? body->rows_max : 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      reply.rows.emplace_back();
      reply.rows.back().job = JobId{body->after.value + i + 1};
    }
    return good(reply);
  });
  const Finished ran = run_command(gateway, "gpuqueue --all");
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 50002);
}

TEST(Queue, ShowsWhatTurnsAreMadeOf) {
  FakeGateway gateway([](const Request& request) {
    if (request.verb != Verb::kTurns) return bad(ErrorCode::kInvalid, "another verb");
    TurnsReply reply;
    reply.age_weight = 100;
    reply.fair_share_weight = 1000;
    reply.rows.resize(1);
    TurnRow& row = reply.rows[0];
    row.job = JobId{18};
    row.user = "kim";
    row.account = "vision";
    row.queue = "batch";
    row.queue_priority = 5;
    row.priority = -3;
    row.age_ppm = 250000;
    row.fair_share_ppm = 333333;
    row.points_milli = 355333;
    reply.rows_left_off = 7;
    return good(reply);
  });
  const Finished ran = run_command(gateway, "gpuqueue --priority 18");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(
      ran.out,
      "JOB  USER  ACCOUNT  QUEUE  QUEUE PRIO  POINTS  OWN  QOS  NICE   AGE  FAIR SHARE  SIZE\n"
      "18   kim   vision   batch           5   355.3   -3    0     0  25.0       333.3   0.0\n");
  EXPECT_THAT(ran.err, HasSubstr("7 jobs that come later are left out"));
  const auto body = gateway.body_of<JobsBody>(Verb::kTurns);
  ASSERT_EQ(body.jobs.size(), 1U);
  EXPECT_TRUE(body.users.empty());
  EXPECT_THAT(run_command(gateway, "gpuqueue --priority --all --json").out,
              HasSubstr("\"points_milli\":355333"));
}

TEST(Info, ShowsTheTreeOfSharesAndHowOneStands) {
  FakeGateway gateway([](const Request& request) {
    if (request.verb != Verb::kShares) return bad(ErrorCode::kInvalid, "another verb");
    SharesReply reply;
    reply.rows = {{"lab-a", "", 0, 200000, 605000, 100000}, {"lab-a", "kim", 1, 200000, 605000, 5}};
    reply.own = {"account lab-a: its share 20 %"};
    return good(reply);
  });
  const Finished ran = run_command(gateway, "gpuinfo --shares");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "ACCOUNT  USER   SHARE    USED  FACTOR\n"
            "lab-a    -     20.0 %  60.5 %       -\n"
            "         kim   20.0 %  60.5 %   0.000\n"
            "\n"
            "account lab-a: its share 20 %\n");
  EXPECT_THAT(run_command(gateway, "gpuinfo --shares --json").out, HasSubstr("\"own\":["));
  EXPECT_EQ(run_command(gateway, "gpuinfo --shares n1").status, 64);
}

Response page_of(std::uint64_t first, std::uint64_t last, bool more) {
  JobsReply reply;
  for (std::uint64_t id = first; id <= last; ++id) {
    reply.rows.emplace_back();
    reply.rows.back().job = JobId{id};
  }
  Response response;
  response.body = encode(reply);
  response.more = more;
  return response;
}

TEST(Queue, PutsTheResponsesOfOneRequestTogether) {
  FakeGateway gateway([](const Request&) {
    return Answer{{page_of(1, 1000, true), page_of(1001, 1500, true), page_of(0, 0, false)}, false};
  });
  const Finished table = run_command(gateway, "gpuqueue --all");
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 1502);
  EXPECT_THAT(table.out, HasSubstr("\n1001 "));
  EXPECT_TRUE(gateway.body_of<JobsBody>(Verb::kJobs).pages);
  const Finished text = run_command(gateway, "gpuqueue --all --json");
  EXPECT_THAT(text.out, HasSubstr("{\"rows\":[{\"job\":1,"));
  EXPECT_THAT(text.out, HasSubstr("},{\"job\":1001,"));
  EXPECT_EQ(text.out.substr(text.out.size() - 4), "}]}\n");
}

TEST(Queue, BeginsAgainWhenTheConnectionIsLostHalfWay) {
  std::atomic<int> calls{0};
  FakeGateway gateway([&calls](const Request&) {
    if (++calls == 1) return Answer{{page_of(1, 1000, true)}, true};
    return Answer{{page_of(1, 3, true), page_of(4, 5, false)}, false};
  });
  const Finished ran = run_command(gateway, "gpuqueue --all");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 6) << ran.out;
}

TEST(Queue, ShowsOneJobAndWhy) {
  FakeGateway gateway([](const Request& request) {
    if (request.verb == Verb::kWhy) {
      WhyReply why;
      why.job = JobId{18};
      why.sentence = "It needs 4 free GPUs; no node has them.";
      return good(why);
    }
    JobReply reply;
    reply.row = pending_row();
    return good(reply);
  });
  EXPECT_THAT(run_command(gateway, "gpuqueue 18").out,
              AllOf(HasSubstr("State:         pending (no-free-gpus)\n"),
                    HasSubstr("Why:           It needs 4 free GPUs; no node has them.\n")));
  EXPECT_EQ(run_command(gateway, "gpuqueue --why 18").out,
            "Job 18: It needs 4 free GPUs; no node has them.\n");
}

TEST(Queue, WatchesAndSaysEachChangeOnce) {
  FakeGateway gateway([](const Request&) {
    JobRow running = pending_row();
    running.state = JobState::kRunning;
    running.node_list = "n1";
    Answer answer = good(WatchReply{false, {pending_row()}});
    answer.responses.push_back(good(WatchReply{false, {pending_row()}}).responses.front());
    answer.responses.push_back(good(WatchReply{false, {running}}).responses.front());
    answer.responses[0].more = answer.responses[1].more = true;
    return answer;
  });
  const Finished ran = run_command(gateway, "gpuqueue --watch");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("  18  evil\\x1b[31m  pending  no-free-gpus\n"));
  EXPECT_THAT(ran.out, HasSubstr("  18  evil\\x1b[31m  running  n1\n"));
}

TEST(Queue, DrawsATableOnATerminal) {
  FakeGateway gateway([](const Request&) {
    Answer answer = good(WatchReply{false, {pending_row()}});
    answer.responses.front().more = true;
    return answer;
  });
  const Finished ran = run_command(
      gateway,
      "TERM=xterm timeout -s INT 1 script -qec 'stty cols 60; gpuqueue --watch' /dev/null");
  EXPECT_THAT(ran.out, HasSubstr("\x1b[H\x1b[2J"));
  EXPECT_THAT(ran.out, HasSubstr("no-free-gpus"));
}

TEST(Info, ShowsNodesAndHolders) {
  FakeGateway gateway([](const Request&) {
    NodesReply reply;
    for (const char* name : {"n10", "n2"}) {
      NodeRow node;
      node.name = name;
      node.state = "up";
      node.connected = true;
      node.cpus = 8;
      node.memory_mib = 16384;
      DeviceRow gpu;
      gpu.facts.type = "h100";
      gpu.facts.memory_mib = 81920;
      gpu.facts.uuid = "GPU-1";
      gpu.milli_used = 1000;
      gpu.holders = {"17 (kim)"};
      node.gpus.push_back(gpu);
      reply.rows.push_back(node);
    }
    return good(reply);
  });
  EXPECT_EQ(run_command(gateway, "gpuinfo").out,
            "NODE  STATE  GPUS USED  TYPE  CPUS USED  MEMORY USED  NOTE\n"
            "n2    up           1/1  h100        0/8       0M/16G\n"
            "n10   up           1/1  h100        0/8       0M/16G\n");
  EXPECT_EQ(run_command(gateway, "gpuinfo --gpus").out,
            "NODE  GPU  TYPE  MEMORY  STATE  HELD BY   UUID\n"
            "n2      0  h100     80G  ready  17 (kim)  GPU-1\n"
            "n10     0  h100     80G  ready  17 (kim)  GPU-1\n");
  run_command(gateway, "gpuinfo n[1-2],m1");
  EXPECT_THAT(decode<NodesBody>(gateway.requests().back().body)->nodes,
              ElementsAre("n1", "n2", "m1"));
}

TEST(Acct, AsksForAPeriodAndPrintsRows) {
  FakeGateway gateway([](const Request&) {
    AccountingRow row;
    row.job = JobId{17};
    row.state = "active";
    row.gpu_seconds = "12";
    row.cpu_seconds = "3";
    return good(AccountingReply{{row}});
  });
  const Finished ran =
      run_command(gateway, "gpuacct --user kim --since 2026-11-01 --until 2026-12-01 --limit 1");
  EXPECT_THAT(ran.out, HasSubstr("17"));
  EXPECT_EQ(ran.err, "gpuacct: note: only the newest 1 rows; see --limit\n");
  const auto filter = gateway.body_of<AccountingFilter>(Verb::kAccounting);
  EXPECT_THAT(filter.users, ElementsAre("kim"));
  EXPECT_EQ(to_rfc3339(filter.since), "2026-11-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(filter.until), "2026-12-01T00:00:00Z");
  EXPECT_EQ(filter.limit, 1U);
}

}  // namespace
}  // namespace muster
