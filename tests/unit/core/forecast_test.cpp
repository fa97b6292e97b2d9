// What is learned of run times, and from what.
#include "controller/core/decide/forecast.h"

#include <gtest/gtest.h>

#include "controller/core/decide/order.h"
#include "controller/core/decide/shortest.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

struct Learning {
  World world;
  FakeFleet fleet{world};
  Forecast forecast;

  Learning() {
    ClusterConfig config = World::config();
    config.queues[0].order = QueueOrder::kShortest;
    world.begin(config);
    fleet.add("n1", World::inventory("n1", 8));
  }
  AttemptKey start(const Requester& who, const std::string& name = "train") {
    const Outcome out = world.submit(World::job(1, 1, name), who);
    fleet.settle();
    world.pass();
    fleet.settle();
    return {out.reply.jobs[0], Element{0}, AttemptNo{1}};
  }
  // Runs a job of one GPU for so long, to that end.
  void run(const Requester& who, Duration time, CauseKind kind, const std::string& name = "train") {
    const AttemptKey key = start(who, name);
    world.at = world.at + time;
    const Attempt* attempt = world.engine.cluster().find_attempt(key);
    ASSERT_NE(attempt, nullptr);
    ASSERT_TRUE(attempt->launched);
    fleet.at("n1").end(key, kind);
    fleet.settle();
  }
  Duration expected(std::uint32_t uid, Duration age = {}, const std::string& name = "train") {
    world.tick({});
    forecast.rebuild(world.engine.cluster());
    forecast.refresh(world.at);
    return forecast.remaining(world.engine.cluster(), facts(uid, name), age);
  }
  static JobFacts facts(std::uint32_t uid, const std::string& name = "train") {
    JobFacts facts;
    facts.name = name;
    facts.owner = std::make_shared<const JobOwner>(JobOwner{Uid{uid}, {}, {}, {}, {}});
    JobTerms terms = terms_of(World::job(1, 1).spec);
    terms.queue = "gpu";
    facts.terms = std::make_shared<const JobTerms>(terms);
    return facts;
  }
};

TEST(Forecast, TellsUsersApart) {
  Learning learning;
  for (int i = 0; i < 20; ++i) {
    learning.run(World::user("kim", 1000), minutes(50), CauseKind::kCompleted);
    learning.run(World::user("lee", 1001), seconds(20), CauseKind::kExited);
  }
  EXPECT_GT(learning.expected(1000), minutes(25));
  EXPECT_LT(learning.expected(1001) * 2, learning.expected(1000));
  EXPECT_LT(learning.forecast.likely_end(learning.world.engine.cluster(), Learning::facts(1001)),
            minutes(2));
}

TEST(Forecast, TellsNamesApartButNotTheirNumbers) {
  Learning learning;
  for (int i = 0; i < 20; ++i) {
    learning.run(World::user(), minutes(50), CauseKind::kCompleted, "train-" + std::to_string(i));
    learning.run(World::user(), seconds(20), CauseKind::kCompleted, "test-" + std::to_string(i));
  }
  const Duration train = learning.expected(1000, {}, "train-99");
  const Duration test = learning.expected(1000, {}, "test-99");
  const Duration other = learning.expected(1000, {}, "else");
  EXPECT_LT(test * 2, train);
  EXPECT_LT(test, other);
  EXPECT_LT(other, train);
  EXPECT_EQ(learning.expected(1000, {}, "777"), learning.expected(1000, {}, ""));
}

TEST(Forecast, WhatHasRunLongRunsLonger) {
  Learning learning;
  for (int i = 0; i < 20; ++i) {
    learning.run(World::user(), seconds(20), CauseKind::kCompleted);
    learning.run(World::user(), minutes(50), CauseKind::kCompleted);
  }
  EXPECT_GT(learning.expected(1000, minutes(2)), learning.expected(1000));
}

TEST(Forecast, AStoppedJobWouldHaveRunLonger) {
  Learning stopped;
  Learning ended;
  for (int i = 0; i < 20; ++i) {
    stopped.run(World::user(), minutes(5),
                i % 2 == 0 ? CauseKind::kTimedOut : CauseKind::kCompleted);
    ended.run(World::user(), minutes(5), CauseKind::kCompleted);
  }
  EXPECT_GT(stopped.expected(1000), ended.expected(1000));
}

// Those that still run say as much; a forecast that follows them is one that is
// made anew.
TEST(Forecast, WhatStillRunsHasNotEnded) {
  Learning learning;
  for (int i = 0; i < 10; ++i) learning.run(World::user(), minutes(5), CauseKind::kCompleted);
  const Duration before = learning.expected(1000);
  std::vector<AttemptKey> keys;
  for (int i = 0; i < 8; ++i) keys.push_back(learning.start(World::user()));
  Forecast follows;
  follows.rebuild(learning.world.engine.cluster());
  learning.world.at = learning.world.at + hours(3);
  EXPECT_GT(learning.expected(1000), before);
  follows.refresh(learning.world.at);
  const Cluster& cluster = learning.world.engine.cluster();
  EXPECT_EQ(follows.remaining(cluster, Learning::facts(1000), {}), learning.expected(1000));
  for (const AttemptKey& key : keys) follows.ended(key);
  learning.world.at = learning.world.at + kForecastEvery;
  follows.refresh(learning.world.at);
  EXPECT_EQ(follows.remaining(cluster, Learning::facts(1000), {}), before);
}

TEST(Forecast, OutlivesAReplay) {
  Learning learning;
  for (int i = 0; i < 5; ++i) learning.run(World::user(), seconds(20), CauseKind::kCompleted);
  Engine again;
  for (const Record& record : learning.world.journal) again.replay(record);
  EXPECT_EQ(again.cluster().digest(), learning.world.engine.cluster().digest());
  EXPECT_EQ(again.cluster().run_times().rows().size(), kLikenessLevels);
  Forecast forecast;
  forecast.rebuild(again.cluster());
  forecast.refresh(learning.world.at);
  EXPECT_EQ(forecast.remaining(again.cluster(), Learning::facts(1000), {}),
            learning.expected(1000));
}

// Those that were taught longest ago go first; what all have in common is
// taught by everybody.
TEST(RunTimesBook, RemembersSoManyLikenesses) {
  RunTimesBook book;
  const std::uint32_t users = kLikenessesMax;
  for (std::uint32_t i = 0; i < users; ++i)
    book.teach(Learning::facts(i, ""), seconds(60), true, Seq{i + 1});
  EXPECT_LE(book.rows().size(), kLikenessesMax);
  EXPECT_GE(book.rows().size(), kLikenessesMax - kLikenessesDropped - kLikenessLevels);
  EXPECT_EQ(book.find(likeness_of(3, Learning::facts(0, ""))), nullptr);
  EXPECT_NE(book.find(likeness_of(3, Learning::facts(users - 1, ""))), nullptr);
  EXPECT_NE(book.find(likeness_of(0, Learning::facts(0, ""))), nullptr);
  RunTimesBook other;
  for (const auto& [likeness, times] : book.rows()) ASSERT_TRUE(other.put(likeness, times));
  EXPECT_EQ(other.digest(), book.digest());
  EXPECT_FALSE(other.put(book.rows().begin()->first, {}));
}

TEST(RunTimesBook, HalvesWhatItHasSeenOften) {
  RunTimesBook book;
  const JobFacts facts = Learning::facts(1000);
  for (std::uint64_t i = 1; i < kRunTimesPerLikenessMax; ++i)
    book.teach(facts, seconds(60), i % 4 != 0, Seq{i});
  const RunTimes* times = book.find(likeness_of(0, facts));
  const std::size_t bin = age_bin_of(seconds(60));
  EXPECT_EQ(times->ended[bin] + times->left[bin], kRunTimesPerLikenessMax - 1);
  book.teach(facts, seconds(60), true, Seq{1});
  EXPECT_NEAR(times->ended[bin] + times->left[bin], kRunTimesPerLikenessMax / 2, 1);
}

TEST(Shortest, WaitingLongComesFirst) {
  const JobTerms terms = *Learning::facts(1000).terms;
  const auto length = [&](Duration expected, Duration waited, std::int64_t points = 0) {
    return length_of(terms, 8, {expected, waited, points * kPoint});
  };
  EXPECT_EQ(length(seconds(100), {}), 100'000);
  EXPECT_EQ(length(seconds(100), seconds(50000)), 66666);
  EXPECT_LT(length(seconds(100), kWaitMax + seconds(1)), 0);
  EXPECT_LT(length(seconds(100), kWaitMax + seconds(2)), length(seconds(1), kWaitMax + seconds(1)));
  JobTerms wide = terms;
  wide.groups[0].nodes_min = 16;
  const auto wide_length = [&](Duration waited) { return length_of(wide, 8, {{}, waited, 0}); };
  EXPECT_LT(wide_length(seconds(2000)), 0);
  EXPECT_LT(wide_length(seconds(70'000)), length(seconds(1), kWaitMax));
  EXPECT_LT(length(seconds(100), kWaitMax + seconds(1)), wide_length(seconds(70'000)));
  EXPECT_LT(wide_length(kWaitMax), length(seconds(1), kWaitMax + seconds(1)));
}

TEST(Shortest, PointsAreWorthTime) {
  const JobTerms terms = *Learning::facts(1000).terms;
  const auto length = [&](std::int64_t points) {
    return length_of(terms, 8, {seconds(100), {}, points});
  };
  EXPECT_EQ(length(200 * kPoint), 50'000);
  EXPECT_EQ(length(600 * kPoint), 12'500);
  EXPECT_EQ(length(-1), 100'000);
  EXPECT_EQ(length(INT64_MAX), 0);
  for (std::int64_t points = 0; points < 500; ++points)
    EXPECT_GT(length(points * kPoint), length((points + 1) * kPoint)) << points;
}

}  // namespace
}  // namespace muster
