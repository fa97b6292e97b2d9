// Usage, its decay, and a month of two accounts that always want more than there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/types/rng.h"
#include "base/types/usage_limits.h"
#include "controller/core/decide/share.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

TEST(Usage, HalvesWithEveryHalfLife) {
  const Duration week = days(7);
  EXPECT_EQ(decay(1000000, Duration{}, week), 1000000U);
  EXPECT_EQ(decay(1000000, week, week), 500000U);
  EXPECT_EQ(decay(1000000, days(21), week), 125000U);
  for (std::int64_t day = 1; day < 60; ++day) {
    const double exact = 1e12 * std::exp2(-static_cast<double>(day) / 7.0);
    EXPECT_NEAR(static_cast<double>(decay(1000000000000, days(day), week)), exact, exact * 0.011);
  }
  EXPECT_EQ(decay(~std::uint64_t{0}, days(10000), week), 0U);
}

TEST(Usage, KeepsHoursThenDaysThenNothing) {
  Usage usage;
  usage.charge(Instant{}, Instant{days(100).us}, 2000);
  EXPECT_LE(usage.buckets().size(), 48U + 61U);
  std::uint64_t sum = 0;
  for (const auto& [hour, amount] : usage.buckets()) sum += amount;
  EXPECT_EQ(sum, 2000ULL * static_cast<std::uint64_t>(days(60).ms()));
  usage.charge(Instant{days(100).us}, Instant{days(100).us}, 5);
  usage.charge(Instant{days(101).us}, Instant{days(100).us}, 5);
  Usage later = usage;
  later.charge(Instant{days(100).us}, Instant{days(100).us + hours(1).us}, 7);
  // What is too old goes by the day.
  EXPECT_EQ(later.decayed(Instant{days(100).us + hours(1).us}, Duration{}),
            sum - 2000ULL * static_cast<std::uint64_t>(days(1).ms()) +
                7ULL * static_cast<std::uint64_t>(hours(1).ms()));
}

// Always a job waiting of each of four users in two accounts of 3 and 1 shares, on eight GPUs.
class Month {
 public:
  Month() {
    ClusterConfig config = World::config();
    config.accounts = {{"big", "", {}, 3}, {"small", "", {}, 1}};
    config.account_default = "big";
    config.priority.age = 0;
    config.priority.half_life = days(2);
    config.queues[0].planned_starts = 0;
    world_.begin(config);
    world_.add_node("n1", World::inventory("1", 8));
    for (std::uint32_t user = 0; user < 4; ++user) {
      for (int i = 0; i < 3; ++i) submit(user);
    }
    world_.pass();
  }

  void run(Duration time) {
    const Instant end = world_.at + time;
    while (world_.at < end) advance();
  }

  void forget() { used_.fill(0); }
  double part(std::uint32_t user) const {
    double sum = 0;
    for (const double used : used_) sum += used;
    return used_[user] / sum;
  }
  World& world() { return world_; }

 private:
  void submit(std::uint32_t user) {
    NewJob job = World::job(1, static_cast<std::uint32_t>(rng_.between(1, 4)));
    job.spec.account = user < 2 ? "big" : "small";
    job.spec.time_limit = minutes(static_cast<std::int64_t>(rng_.between(30, 360)));
    const JobId id = world_.submitted(job, World::user("u" + std::to_string(user), 1000 + user));
    user_of_[id] = user;
  }

  void advance() {
    const std::map<AttemptKey, Attempt> attempts = world_.engine.cluster().attempts();
    Instant next{world_.at.us + hours(1000).us};
    AttemptKey first;
    for (const auto& [key, attempt] : attempts) {
      if (!attempt.launched) world_.report("n1", key, AttemptPhase::kPrepared);
      const Instant end =
          attempt.started_at + world_.engine.cluster().find_job(key.job)->facts().time_limit();
      if (end < next) {
        next = end;
        first = key;
      }
    }
    world_.step(WorkerHeard{"n1"});
    const Attempt& attempt = attempts.at(first);
    world_.at = std::max(world_.at, next);
    used_[user_of_[first.job]] += static_cast<double>(attempt.place->members[0].grants.size()) *
                                  static_cast<double>((world_.at - attempt.started_at).seconds());
    world_.report("n1", first, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
    submit(user_of_[first.job]);
    world_.pass();
  }

  World world_;
  Rng rng_{7};
  std::map<JobId, std::uint32_t> user_of_;
  std::array<double, 4> used_{};
};

TEST(FairShare, ConvergesToTheSharesOverAMonth) {
  Month month;
  month.run(days(10));
  month.forget();
  month.run(days(20));
  EXPECT_NEAR(month.part(0) + month.part(1), 0.75, 0.03);
  EXPECT_NEAR(month.part(0), month.part(1), 0.03);
  EXPECT_NEAR(month.part(2), month.part(3), 0.03);
}

// Two who ask at once for the only GPU: who used less comes first.
TEST(FairShare, BeginsWithWhatWasUsedElsewhere) {
  World world;
  ClusterConfig config = World::config();
  config.accounts = {{"a", "", {}, 1}, {"b", "", {}, 1}};
  config.account_default = "a";
  config.priority.age = 0;
  world.begin(config);
  world.add_node("n1", World::inventory("1", 1));
  const auto set = [&](std::vector<UsedBefore> lines, const Requester& who) {
    return world.step(SetUsage{who, std::move(lines)});
  };
  const UsageKey kim{"a", Uid{1000}};
  const UsageKey lee{"b", Uid{1001}};
  ASSERT_FALSE(set({{kim, 7}, {lee, 3}}, World::admin()).reply.error);
  ASSERT_FALSE(set({{kim, 7200}, {lee, 3600}}, World::admin()).reply.error);
  const Cluster& cluster = world.engine.cluster();
  EXPECT_EQ(cluster.usage().at(kim).decayed(world.at, days(7)), 7'200'000'000U);
  const std::uint64_t digest = cluster.digest();
  EXPECT_EQ(world.digest_of_replay(), digest);

  const auto refusal = [&](std::vector<UsedBefore> lines, const Requester& who) {
    const Outcome out = set(std::move(lines), who);
    return out.reply.error ? out.reply.error->message : "";
  };
  EXPECT_EQ(refusal({{kim, 1}}, World::user()), "only an administrator may set usage");
  EXPECT_EQ(refusal({{kim, 1}, {{"c", Uid{1}}, 1}}, World::admin()),
            "there is no account c; gpuadmin account list shows them");
  EXPECT_EQ(refusal({{kim, 1}, {kim, 2}}, World::admin()), "account a, uid 1000: given twice");
  EXPECT_EQ(refusal({{kim, kGpuSecondsSetMax + 1}}, World::admin()),
            "at most 1000000000000 GPU-seconds can be set");
  EXPECT_EQ(refusal({}, World::admin()), "no usage was given");
  EXPECT_EQ(cluster.digest(), digest);

  NewJob job = World::job(1, 1);
  job.spec.account = "a";
  const JobId first = world.submitted(job, World::user("kim", 1000));
  job.spec.account = "b";
  const JobId second = world.submitted(job, World::user("lee", 1001));
  world.pass();
  EXPECT_EQ(world.state(first), ElementState::kPending);
  EXPECT_NE(world.state(second), ElementState::kPending);

  ASSERT_FALSE(set({{kim, 0}, {lee, 0}}, World::admin()).reply.error);
  EXPECT_TRUE(cluster.usage().empty());
  EXPECT_EQ(world.digest_of_replay(), cluster.digest());
}

TEST(FairShare, IsTheSameAfterARestart) {
  Month month;
  month.run(days(3));
  const Cluster& before = month.world().engine.cluster();
  Engine again;
  for (const Record& record : month.world().journal) again.replay(record);
  EXPECT_EQ(again.cluster().digest(), before.digest());
  EXPECT_EQ(again.cluster().usage().size(), 4U);
  Shares shares;
  shares.rebuild(again.cluster());
  shares.refresh(again.cluster(), month.world().at);
  Shares same;
  same.rebuild(before);
  same.refresh(before, month.world().at);
  ASSERT_EQ(shares.rows().size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(shares.rows()[i].factor, same.rows()[i].factor);
}

}  // namespace
}  // namespace muster
