// Shares in plain words, and the factors of turns.
#include "controller/host/standings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string name_of(Uid uid) { return "u" + std::to_string(uid.value); }

class Standings : public ::testing::Test {
 protected:
  Standings() {
    ClusterConfig config = World::config();
    config.accounts = {{"lab-a", "", {}, 1}, {"lab-b", "", {}, 2}, {"lab-c", "", {}, 2}};
    config.account_default = "lab-a";
    config.priority.fair_share = 100;
    config.priority.age = 1000;
    config.priority.size = 10;
    config.queues[0].priority = 3;
    world_.begin(config);
    world_.add_node("n1", World::inventory("1", 8));
  }

  // Runs on so many GPUs for an hour, alone.
  void use(const std::string& account, std::uint32_t uid, std::uint32_t gpus) {
    NewJob job = World::job(1, gpus);
    job.spec.account = account;
    job.spec.time_limit = hours(2);
    const JobId id = world_.submitted(job, World::user(name_of(Uid{uid}), uid));
    world_.pass();
    const AttemptKey key = world_.attempt(id)->key;
    world_.report("n1", key, AttemptPhase::kPrepared);
    for (int i = 0; i < 360; ++i) {
      world_.at = world_.at + seconds(10);
      world_.step(WorkerHeard{"n1"});
    }
    world_.report("n1", key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
  }

  SharesReply shares_of(std::uint32_t uid) {
    world_.at = world_.at + minutes(1);
    return shares_reply(world_.engine.standing(world_.at), world_.engine.cluster().config(),
                        World::user("me", uid), name_of);
  }

  TurnsReply turns(const JobsBody& which) {
    ViewState state;
    state.config = world_.engine.cluster().config_shared();
    for (const auto& [id, job] : world_.engine.cluster().jobs())
      state.jobs.set(id.value, std::make_shared<const JobView>(job));
    return turns_reply(world_.engine.standing(world_.at), state, which);
  }

  World world_;
};

// One account and one user of it: there is nobody to be behind.
TEST(StandingsAlone, SayThatNobodyElseUsedAnything) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 8));
  const JobId id = world.submitted(World::job(1, 4), World::user("u1001", 1001));
  world.pass();
  const AttemptKey key = world.attempt(id)->key;
  world.report("n1", key, AttemptPhase::kPrepared);
  world.at = world.at + seconds(31);
  world.report("n1", key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
  const auto reply = shares_reply(world.engine.standing(world.at), world.engine.cluster().config(),
                                  World::user("me", 1001), name_of);
  EXPECT_EQ(reply.rows.back().used_ppm, 1000000U);
  EXPECT_THAT(reply.own,
              ElementsAre("nobody else has used anything lately: you are behind nobody"));
}

TEST_F(Standings, SayWhoIsBehindWhom) {
  use("lab-a", 1001, 4);
  use("lab-a", 1002, 2);
  use("lab-b", 1003, 1);
  use("lab-c", 1004, 3);
  const SharesReply reply = shares_of(1001);
  EXPECT_THAT(reply.own,
              ElementsAre("account lab-a: its share 20 %, used 59 % (what is 7d old counts half), "
                          "so it is behind lab-b and lab-c",
                          "you within account lab-a: your share 50 %, used 66 % (what is 7d old "
                          "counts half), so you are behind u1002"));
  EXPECT_THAT(shares_of(1003).own,
              ElementsAre("account lab-b: its share 40 %, used 10 % (what is 7d old counts half), "
                          "so it is before lab-a and lab-c"));
  EXPECT_THAT(shares_of(1004).own, ElementsAre(HasSubstr("is behind lab-b, and before lab-a")));
  EXPECT_THAT(shares_of(1005).own, ElementsAre("you have used nothing lately: you come early"));
  ASSERT_EQ(reply.rows.size(), 7U);
  EXPECT_EQ(reply.rows[0].account, "lab-a");
  EXPECT_EQ(reply.rows[0].share_ppm, 200000U);
  EXPECT_NEAR(reply.rows[0].used_ppm, 600000, 4000);
  EXPECT_EQ(reply.rows[1].user, "u1001");
  EXPECT_EQ(reply.rows[1].depth, 1U);
  EXPECT_LT(reply.rows[1].factor_ppm, reply.rows[2].factor_ppm);
}

TEST_F(Standings, ShowEveryFactorOfWhoWaits) {
  use("lab-a", 1001, 4);
  NewJob wide = World::job(1, 8);
  wide.spec.priority = -2;
  const JobId runs = world_.submitted(wide, World::user("u1001", 1001));
  world_.pass();
  const JobId first = world_.submitted(wide, World::user("u1001", 1001));
  NewJob small = World::job(1, 2);
  small.spec.account = "lab-b";
  const JobId second = world_.submitted(small, World::user("u1002", 1002));
  world_.at = world_.at + hours(42);  // A quarter of age_max.
  EXPECT_EQ(world_.state(runs), ElementState::kActive);
  const TurnsReply reply = turns({});
  ASSERT_EQ(reply.rows.size(), 2U);
  EXPECT_EQ(reply.rows[0].job, second);
  EXPECT_EQ(reply.rows[0].queue_priority, 3);
  EXPECT_EQ(reply.rows[0].age_ppm, 250000U);
  EXPECT_EQ(reply.rows[0].size_ppm, 250000U);
  EXPECT_GT(reply.rows[0].fair_share_ppm, reply.rows[1].fair_share_ppm);
  const TurnRow& row = reply.rows[1];
  EXPECT_EQ(row.job, first);
  EXPECT_EQ(row.priority, -2);
  EXPECT_EQ(row.size_ppm, 1000000U);
  EXPECT_EQ(row.points_milli, -2000 + 250 * 1000 + row.fair_share_ppm / 10 + 10 * 1000);
  JobsBody mine;
  mine.users = {"u1001"};
  EXPECT_EQ(turns(mine).rows.size(), 1U);
  JobsBody one;
  one.jobs = {{second, std::nullopt}};
  EXPECT_EQ(turns(one).rows.size(), 1U);
}

}  // namespace
}  // namespace muster
