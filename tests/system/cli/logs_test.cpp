// gpulogs against a gateway: reading to the end, following through a wait, a lost handle and a
// second attempt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/cli/fake_gateway.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

// A job whose file grows by script. State is touched by one connection's thread at a time.
struct FakeJob {
  std::string file;
  std::uint32_t attempt = 1;
  JobState state = JobState::kRunning;
  int opens_refused = 0;  // "Has not started" that many times.
  int reads = 0;
  std::function<void(FakeJob&, int)> on_read;  // Before the n-th read.

  Answer operator()(const Request& request) {
    if (request.verb == Verb::kLogOpen) {
      if (opens_refused-- > 0) return bad(ErrorCode::kConflict, "job 17 has not started");
      LogOpenReply reply;
      reply.handle = 5;
      reply.node = "n1";
      reply.path = "/home/kim/muster-17.out";
      reply.key.attempt = AttemptNo{attempt};
      return good(reply);
    }
    if (request.verb == Verb::kLogRead) {
      if (on_read) on_read(*this, ++reads);
      if (state == JobState::kPending) return bad(ErrorCode::kNotFound, "no such handle");
      auto body = decode<LogReadBody>(request.body);
      LogReadReply reply;
      reply.offset = body->offset;
      if (body->offset < file.size()) reply.data = file.substr(body->offset, 4);
      reply.end = state == JobState::kEnded && body->offset + reply.data.size() >= file.size();
      return good(reply);
    }
    if (request.verb == Verb::kJob) {
      JobReply reply;
      reply.row.job = JobId{17};
      reply.row.state = opens_refused > 0 ? JobState::kPending : state;
      reply.row.attempt = AttemptNo{attempt};
      return good(reply);
    }
    return good(LogCloseBody{});
  }
};

TEST(Logs, PrintsWhatThereIs) {
  FakeJob job;
  job.file = std::string("hello\0world\n", 12);
  FakeGateway gateway([&job](const Request& request) { return job(request); });
  const Finished ran = run_command(gateway, "gpulogs 17");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, job.file);
}

TEST(Logs, AsksForARankOfAnAttempt) {
  FakeJob job;
  FakeGateway gateway([&job](const Request& request) { return job(request); });
  run_command(gateway, "gpulogs --rank 3 --attempt 2 --error 17_4");
  const auto body = gateway.body_of<LogOpenBody>(Verb::kLogOpen);
  EXPECT_EQ(body.rank, 3);
  EXPECT_EQ(body.attempt, 2U);
  EXPECT_TRUE(body.errors);
  EXPECT_EQ(body.job.element->value, 4U);
}

TEST(Logs, FollowsUntilTheEnd) {
  FakeJob job;
  job.file = "abc";
  job.opens_refused = 2;
  job.on_read = [](FakeJob& it, int n) {
    if (n == 3) it.file += "defgh";
    if (n == 6) it.state = JobState::kEnded;
  };
  FakeGateway gateway([&job](const Request& request) { return job(request); });
  const Finished ran = run_command(gateway, "gpulogs -f 17");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "abcdefgh");
  EXPECT_EQ(ran.err, "gpulogs: note: job 17 is pending; waiting for it\n");
}

TEST(Logs, FindsItsPlaceAgainWhenTheRelayForgotIt) {
  FakeJob job;
  job.file = "abcdef";
  bool forgot = false;
  job.on_read = [&forgot](FakeJob& it, int n) {
    it.state = n == 2 && !forgot ? JobState::kPending : JobState::kEnded;
    forgot = forgot || n == 2;
  };
  FakeGateway gateway([&job](const Request& request) { return job(request); });
  const Finished ran = run_command(gateway, "gpulogs -f 17");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "abcdef");
}

TEST(Logs, GoesOnWithTheNextAttempt) {
  FakeJob job;
  job.file = "first\n";
  FakeGateway gateway([&job](const Request& request) {
    if (request.verb == Verb::kJob &&
        job.attempt == 1) {  // The first attempt is over, the next one runs.
      job.attempt = 2;
      job.file += "second\n";
      JobReply reply;
      reply.row.state = JobState::kRunning;
      reply.row.attempt = AttemptNo{2};
      return good(reply);
    }
    job.state = JobState::kEnded;  // What is there is all of this attempt.
    return job(request);
  });
  const Finished ran = run_command(gateway, "gpulogs -f 17");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "first\nsecond\n");
}

TEST(Logs, SaysWhereTheFileLies) {
  FakeJob job;
  FakeGateway gateway([&job](const Request& request) { return job(request); });
  EXPECT_THAT(run_command(gateway, "gpulogs --json 17").out,
              HasSubstr("\"path\":\"/home/kim/muster-17.out\""));
}

TEST(Logs, FailsWithoutFollowingWhenThereIsNone) {
  FakeJob job;
  job.opens_refused = 1;
  FakeGateway gateway([&job](const Request& request) { return job(request); });
  const Finished ran = run_command(gateway, "gpulogs 17");
  EXPECT_EQ(ran.status, 67);
  EXPECT_EQ(ran.err, "gpulogs: job 17 has not started\n");
}

TEST(Logs, ReadsTheFileOfAJobThatHasEnded) {
  write_file(scratch() + "/demo-17-1.out", "from the file\n");
  FakeGateway gateway([](const Request& request) {
    if (request.verb == Verb::kLogOpen)
      return bad(ErrorCode::kNotFound, "the node has forgotten it");
    JobReply reply;
    reply.row.job = JobId{17};
    reply.row.state = JobState::kEnded;
    reply.row.node_list = "n1";
    reply.row.attempt = AttemptNo{1};
    reply.spec.name = "demo";
    reply.spec.groups.resize(1);
    reply.launch.cwd = scratch();
    reply.launch.output = "%x-%j-%r.out";
    return good(reply);
  });
  const Finished ran = run_command(gateway, "gpulogs 17");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "from the file\n");
  EXPECT_EQ(ran.err, "gpulogs: note: the job has ended; this was read from " + scratch() +
                         "/demo-17-1.out on this host\n");
  const Finished other = run_command(gateway, "gpulogs --rank 1 17");
  EXPECT_EQ(other.status, 66);
  EXPECT_EQ(other.err,
            "gpulogs: the job has ended and its node keeps no output; there is no rank 1\n");
}

}  // namespace
}  // namespace muster
