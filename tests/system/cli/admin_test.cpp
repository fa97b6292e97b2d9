// gpuadmin against a gateway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/cli/fake_gateway.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Admin, AddsANode) {
  FakeGateway gateway([](const Request&) {
    NodeAddReply reply;
    reply.token = "t";
    reply.command = "muster-worker enrol --node n3";
    reply.valid_seconds = 3600;
    return good(reply);
  });
  EXPECT_EQ(
      run_command(gateway, "gpuadmin node add n3").out,
      "On n3, within 1h, type\n\n  muster-worker enrol --node n3\n\nand give it this token when it "
      "asks:\n\n  t\n");
  EXPECT_EQ(gateway.body_of<NodeAddBody>(Verb::kNodeAdd).node, "n3");
}

TEST(Admin, DrainsAndResumesNodes) {
  FakeGateway gateway([](const Request&) { return good(ChangeReply{}); });
  const Finished ran = run_command(gateway, "gpuadmin node drain n[1-2] m1 --reason 'new fan'");
  EXPECT_EQ(ran.out, "Draining n[1-2],m1\n") << ran.err;
  const auto body = gateway.body_of<NodeChangeBody>(Verb::kNodeDrain);
  EXPECT_THAT(body.nodes, ElementsAre("n1", "n2", "m1"));
  EXPECT_EQ(body.reason, "new fan");
  EXPECT_EQ(run_command(gateway, "gpuadmin node resume n1").out, "Resumed n1\n");
  EXPECT_EQ(run_command(gateway, "gpuadmin node remove n1 --reason sold").out, "Removed n1\n");
  EXPECT_EQ(run_command(gateway, "gpuadmin node confirm-dead n1 --reason burnt").out,
            "Taken for dead n1\n");
}

TEST(Admin, ShowsHowTheControllerStands) {
  FakeGateway gateway([](const Request& request) {
    if (request.verb == Verb::kQueues) {
      QueueRow row;
      row.name = "batch";
      row.is_default = true;
      row.time_max = hours(24);
      row.gpus = 8;
      return good(QueuesReply{{row}});
    }
    if (request.verb == Verb::kAccounts)
      return good(AccountsReply{{{"vision", "", {"kim", "lee"}, false}}});
    if (request.verb == Verb::kReload) return good(ChangeReply{});
    StatusReply status;
    status.cluster = "lab";
    status.release = "0.1.0";
    status.nodes = 2;
    status.database_error = "no route";
    return good(status);
  });
  EXPECT_EQ(run_command(gateway, "gpuadmin queue list").out,
            "QUEUE   STATE  PRIORITY  TIME    TIME MAX  NODES  GPUS USED  RUNNING  PENDING\n"
            "batch*  open          0     -  1-00:00:00      0        0/8        0        0\n");
  EXPECT_EQ(run_command(gateway, "gpuadmin account list").out,
            "ACCOUNT  PARENT  USERS\nvision   -       kim,lee\n");
  EXPECT_THAT(run_command(gateway, "gpuadmin ping").out,
              MatchesRegex("The controller of lab \\(0.1.0\\) answers in [0-9]+\\.[0-9] ms\n"));
  const std::string status = run_command(gateway, "gpuadmin status").out;
  EXPECT_THAT(status, HasSubstr("Nodes:          0 of 2 connected\n"));
  EXPECT_THAT(status, HasSubstr("Database:       not connected: no route\n"));
  EXPECT_EQ(run_command(gateway, "gpuadmin reload").out, "The configuration was read again\n");
}

TEST(Admin, SaysHowEstimatesCameOut) {
  FakeGateway gateway([](const Request& request) {
    if (request.verb != Verb::kEstimates) return bad(ErrorCode::kInvalid, "another verb");
    EstimatesReply reply;
    reply.days = 30;
    reply.jobs_told = 7;
    reply.rows = {{"", 412, 230, 358, 182, minutes(12), 868932}, {"gpu", 0, 0, 0, 0, {}, 0}};
    return good(reply);
  });
  const Finished ran = run_command(gateway, "gpuadmin stats eta");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Starts are estimated of 7 jobs that wait."));
  EXPECT_THAT(ran.out, HasSubstr("(all)   412    55 %    86 %    12m\n"));
  EXPECT_THAT(ran.out, HasSubstr("gpu       0       -       -      -\n"));
  EXPECT_THAT(run_command(gateway, "gpuadmin stats eta --json").out,
              HasSubstr("\"p90_held_ppm\":868932"));
  EXPECT_EQ(run_command(gateway, "gpuadmin stats eta more").status, 64);
}

}  // namespace
}  // namespace muster
