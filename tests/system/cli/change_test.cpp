// gpucancel and gpujob against a gateway: which jobs they mean and what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/cli/fake_gateway.h"

namespace muster {
namespace {

using ::testing::ElementsAre;

Answer done(const Request&) { return good(ChangeReply{{JobId{17}, JobId{18}}, {"18 had ended"}}); }

TEST(Cancel, MeansTheJobsGiven) {
  FakeGateway gateway(done);
  const Finished ran = run_command(gateway, "gpucancel 17 18_[3-4]");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "Cancelled job 17\nCancelled job 18\n");
  EXPECT_EQ(ran.err, "gpucancel: note: 18 had ended\n");
  const auto body = gateway.body_of<SelectBody>(Verb::kCancel);
  ASSERT_EQ(body.jobs.size(), 3U);
  EXPECT_FALSE(body.jobs[0].element.has_value());
  EXPECT_EQ(body.jobs[2].element->value, 4U);
  EXPECT_EQ(body.signal, 0);
  EXPECT_TRUE(gateway.requests().front().request_id.has_value());
}

TEST(Cancel, SendsSignalsAndChoosesByNameUserAndQueue) {
  FakeGateway gateway(done);
  const Finished ran =
      run_command(gateway, "gpucancel --signal USR1 --name x --user kim --queue a,b --all --json");
  EXPECT_EQ(ran.out, "{\"jobs\":[17,18],\"notes\":[\"18 had ended\"],\"trial\":null}\n");
  const auto body = gateway.body_of<SelectBody>(Verb::kCancel);
  EXPECT_EQ(body.signal, 10);
  EXPECT_THAT(body.names, ElementsAre("x"));
  EXPECT_THAT(body.users, ElementsAre("kim"));
  EXPECT_THAT(body.queues, ElementsAre("a", "b"));
  EXPECT_TRUE(body.all_mine);
}

TEST(Cancel, HasACodeForEachRefusal) {
  for (const auto& [code, status] :
       {std::pair{ErrorCode::kNotFound, 66}, std::pair{ErrorCode::kConflict, 67},
        std::pair{ErrorCode::kLimit, 68}}) {
    const ErrorCode refused = code;
    FakeGateway gateway([refused](const Request&) { return bad(refused, "no\x1b[2J"); });
    const Finished ran = run_command(gateway, "gpucancel --timeout 0 17");
    EXPECT_EQ(ran.status, status);
    EXPECT_EQ(ran.err, "gpucancel: no\\x1b[2J\n");
  }
}

TEST(Job, SetsAndMoves) {
  FakeGateway gateway(done);
  EXPECT_EQ(run_command(gateway, "gpujob set 17 time=30m queue=q account=a priority=-5 name='x y'")
                .status,
            0);
  const auto body = gateway.body_of<SelectBody>(Verb::kSet);
  EXPECT_EQ(body.time_limit, minutes(30));
  EXPECT_EQ(body.queue, "q");
  EXPECT_EQ(body.account, "a");
  EXPECT_EQ(body.priority, -5);
  EXPECT_EQ(body.name, "x y");
  EXPECT_EQ(run_command(gateway, "gpujob hold 17").out, "Held job 17\nHeld job 18\n");
  EXPECT_EQ(run_command(gateway, "gpujob release --all").out, "Released job 17\nReleased job 18\n");
  EXPECT_EQ(run_command(gateway, "gpujob requeue 17").out, "Requeued job 17\nRequeued job 18\n");
  EXPECT_EQ(run_command(gateway, "gpujob top 17").out,
            "Moved to the top job 17\nMoved to the top job 18\n");
}

TEST(Job, SaysWhenNothingFits) {
  FakeGateway gateway([](const Request&) { return good(ChangeReply{}); });
  const Finished ran = run_command(gateway, "gpujob hold --name nobody");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.err, "gpujob: note: no job fits; nothing was changed\n");
}

}  // namespace
}  // namespace muster
