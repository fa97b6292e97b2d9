// Estimates of starts against what then happens, and what is remembered of them.
#include "controller/core/decide/estimate.h"

#include <gtest/gtest.h>

#include "base/types/rng.h"
#include "controller/core/decide/start_trial.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

struct Waiting {
  World world;
  FakeFleet fleet{world};
  std::map<JobId, Instant> started;

  explicit Waiting(const ClusterConfig& config = World::config()) { world.begin(config); }

  JobId submit(std::uint32_t nodes, std::uint32_t gpus, Duration limit,
               const Requester& who = World::user()) {
    NewJob job = World::job(nodes, gpus);
    job.spec.time_limit = limit;
    const JobId id = world.submitted(job, who);
    settle();
    return id;
  }
  void settle() {
    fleet.settle();
    for (const auto& [key, attempt] : world.engine.cluster().attempts())
      started.try_emplace(key.job, attempt.started_at);
  }
  std::uint32_t look_ahead(std::uint64_t work = 1'000'000) {
    std::uint32_t slices = 1;
    bool more = fleet.step(EstimateStarts{work, true}).estimate_wanted;
    for (; more; ++slices) more = fleet.step(EstimateStarts{work, false}).estimate_wanted;
    return slices;
  }
  const StartEstimate* find(JobId job) const { return world.engine.starts()->find(job); }

  // Ends everything at its time limit, or at `part` hundredths of it, until nothing runs.
  void run_on(std::int64_t part = 100) {
    while (!world.engine.cluster().attempts().empty()) {
      Instant next{std::numeric_limits<std::int64_t>::max()};
      for (const auto& [key, attempt] : world.engine.cluster().attempts())
        next = std::min(next, end_of(attempt, part));
      world.at = next;
      for (auto& [name, worker] : fleet.workers()) fleet.step(WorkerHeard{name});
      std::vector<AttemptKey> over;
      for (const auto& [key, attempt] : world.engine.cluster().attempts()) {
        if (end_of(attempt, part) <= next) over.push_back(key);
      }
      for (const AttemptKey& key : over) {
        for (auto& [name, worker] : fleet.workers()) worker.end(key, CauseKind::kCompleted);
      }
      settle();
    }
  }
  Instant end_of(const Attempt& attempt, std::int64_t part) const {
    const Duration limit = world.engine.cluster().find_job(attempt.key.job)->facts().time_limit();
    return attempt.launched_at + Duration{limit.us / 100 * part};
  }
};

// Every job ends at its limit: then each estimate is exact, whatever the mix.
TEST(Estimate, IsExactWhereEndsAreKnown) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Rng rng(seed);
    Waiting waiting;
    for (int i = 1; i <= 4; ++i) {
      const std::string name = "n" + std::to_string(i);
      waiting.fleet.add(name, World::inventory(name, 4));
    }
    std::vector<JobId> jobs;
    for (int i = 0; i < 30; ++i) {
      const auto gpus = static_cast<std::uint32_t>(1 + rng.below(4));
      const auto nodes = gpus == 4 ? static_cast<std::uint32_t>(1 + rng.below(3)) : 1;
      // Fewer than are needed to learn from, so that limits are all that is known.
      jobs.push_back(
          waiting.submit(nodes, gpus, minutes(static_cast<std::int64_t>(10 + 7 * rng.below(20)))));
    }
    waiting.look_ahead();
    std::map<JobId, StartEstimate> said;
    for (const JobId job : jobs) {
      if (waiting.started.count(job) != 0) continue;
      const StartEstimate* start = waiting.find(job);
      ASSERT_NE(start, nullptr) << "seed " << seed << " job " << job.value;
      EXPECT_EQ(start->half, start->most);
      said[job] = *start;
    }
    ASSERT_GT(said.size(), 5U);
    waiting.run_on();
    for (const auto& [job, start] : said)
      EXPECT_EQ(to_text(start.half - Instant{}), to_text(waiting.started[job] - Instant{}))
          << "seed " << seed << " job " << job.value;
    const EstimateSum sum = waiting.world.engine.cluster().estimates().sum();
    EXPECT_EQ(sum.count, said.size());
    EXPECT_EQ(sum.most_held, said.size());
    EXPECT_EQ(waiting.world.digest_of_replay(), waiting.world.engine.cluster().digest());
  }
}

TEST(Estimate, IsTheSameInSmallSlices) {
  Waiting waiting;
  waiting.fleet.add("n1", World::inventory("n1", 4));
  std::vector<JobId> jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back(waiting.submit(1, 1 + static_cast<std::uint32_t>(i % 3), minutes(10 + i)));
  waiting.look_ahead();
  const auto whole = waiting.world.engine.starts();
  EXPECT_GT(waiting.look_ahead(7), 20U);
  const auto sliced = waiting.world.engine.starts();
  ASSERT_NE(whole, sliced);
  ASSERT_EQ(whole->starts.size(), sliced->starts.size());
  for (std::size_t i = 0; i < whole->starts.size(); ++i) {
    EXPECT_EQ(whole->starts[i].job, sliced->starts[i].job);
    EXPECT_EQ(whole->starts[i].most, sliced->starts[i].most);
  }
}

// What is said of the books is true of the books: what fits now and comes first starts now, and
// what waits for room does not.
TEST(Estimate, NeverContradictsFreeCapacity) {
  Waiting waiting;
  waiting.fleet.add("n1", World::inventory("n1", 4));
  waiting.submit(1, 3, hours(1));
  const JobId waits = waiting.submit(1, 2, hours(1));
  waiting.look_ahead();
  ASSERT_NE(waiting.find(waits), nullptr);
  EXPECT_EQ(waiting.find(waits)->half, waiting.world.at + hours(1));
  waiting.fleet.add("n2", World::inventory("n2", 4));
  EXPECT_TRUE(waiting.world.pass_wanted);
  waiting.look_ahead();  // Before the pass.
  ASSERT_NE(waiting.find(waits), nullptr);
  EXPECT_EQ(waiting.find(waits)->most, waiting.world.at);
  waiting.fleet.step(SchedulePass{});
  waiting.settle();
  EXPECT_EQ(waiting.started.count(waits), 1U);
}

TEST(Estimate, HoldsToLimits) {
  ClusterConfig config = World::config();
  UserConfig kim;
  kim.name = "kim";
  kim.limits.running_jobs = 1;
  config.users = {kim};
  Waiting waiting(config);
  waiting.fleet.add("n1", World::inventory("n1", 8));
  waiting.submit(1, 1, hours(1));
  const JobId second = waiting.submit(1, 1, hours(1));
  const JobId third = waiting.submit(1, 1, hours(1));
  waiting.look_ahead();
  ASSERT_NE(waiting.find(third), nullptr);
  EXPECT_EQ(waiting.find(second)->half, waiting.world.at + hours(1));
  EXPECT_EQ(waiting.find(third)->half, waiting.world.at + hours(2));
}

TEST(Estimate, SaysNothingOfWhatCanNeverStart) {
  Waiting waiting;
  waiting.fleet.add("n1", World::inventory("n1", 4));
  waiting.fleet.add("n2", World::inventory("n2", 4));
  waiting.submit(2, 4, hours(1));
  const JobId wide = waiting.submit(2, 4, hours(1));
  waiting.look_ahead();
  EXPECT_NE(waiting.find(wide), nullptr);
  waiting.fleet.step(ChangeNodes{World::admin(), NodeVerb::kDrain, {"n2"}, "broken"});
  waiting.look_ahead();
  EXPECT_EQ(waiting.find(wide), nullptr);
}

TEST(Estimate, TakesWhatIsOverdueToEndSoon) {
  Waiting waiting;
  waiting.fleet.add("n1", World::inventory("n1", 1));
  waiting.submit(1, 1, hours(1));
  const JobId next = waiting.submit(1, 1, hours(1));
  waiting.world.at = waiting.world.at + hours(2);
  waiting.look_ahead();
  ASSERT_NE(waiting.find(next), nullptr);
  EXPECT_EQ(waiting.find(next)->half, waiting.world.at + seconds(30));
}

// Jobs ask for ten hours and run for one: the estimates learn it, and say how sure they are.
TEST(Estimate, LearnsThatLimitsAreNotReached) {
  Waiting waiting;
  waiting.fleet.add("n1", World::inventory("n1", 1));
  for (int i = 0; i < 60; ++i) waiting.submit(1, 1, hours(10));
  waiting.run_on(10);
  waiting.submit(1, 1, hours(10));
  const JobId next = waiting.submit(1, 1, hours(10));
  waiting.look_ahead();
  const StartEstimate* start = waiting.find(next);
  ASSERT_NE(start, nullptr);
  EXPECT_LT(start->half, start->most);
  EXPECT_GT(start->half, waiting.world.at + minutes(30));
  EXPECT_LT(start->half, waiting.world.at + hours(2));
  EXPECT_LE(start->most, waiting.world.at + hours(10));
  const auto why = waiting.world.engine.explain({next, {}}, waiting.world.at);
  ASSERT_TRUE(why);
  EXPECT_NE(why->sentence.find("in 9 of 10 cases"), std::string::npos) << why->sentence;
  EXPECT_EQ(why->start_half, start->half);
}

TrialAnswer try_job(const Waiting& waiting, const NewJob& job) {
  const Engine& engine = waiting.world.engine;
  const std::uint64_t digest = engine.cluster().digest();
  const auto trial = engine.begin_trial(World::user(), job.spec, waiting.world.at);
  while (!engine.advance_trial(*trial)) continue;
  EXPECT_TRUE(trial->has_answer());
  EXPECT_EQ(engine.cluster().digest(), digest);
  return trial->answer();
}

TEST(StartTrial, NamesFewerGpusAndOtherTypes) {
  Waiting waiting;
  waiting.fleet.add("n1", World::inventory("n1", 4));
  waiting.fleet.add("n2", World::inventory("n2", 4, 64, 512000, "a100"));
  const auto submit = [&](const std::string& type, std::uint32_t gpus, Duration limit) {
    NewJob job = World::job(1, gpus);
    job.spec.time_limit = limit;
    job.spec.groups[0].gpu_types = {type};
    waiting.world.submitted(job);
    waiting.settle();
  };
  submit("h100", 3, hours(2));
  submit("a100", 4, hours(1));
  NewJob job = World::job(1, 4);
  job.spec.time_limit = hours(1);
  job.spec.groups[0].gpu_types = {"h100"};
  const TrialAnswer answer = try_job(waiting, job);
  ASSERT_TRUE(answer.start);
  EXPECT_EQ(answer.start->half, waiting.world.at + hours(2));
  ASSERT_EQ(answer.sooner.size(), 2U);
  EXPECT_EQ(answer.sooner[0].options, "--gpus 1");
  EXPECT_EQ(answer.sooner[0].start.half, waiting.world.at);
  EXPECT_EQ(answer.sooner[1].options, "--gpu-type a100");
  EXPECT_EQ(answer.sooner[1].start.half, waiting.world.at + hours(1));
  // What is said of the job is what then happens to it.
  waiting.world.submitted(job);
  waiting.settle();
  waiting.look_ahead();
  EXPECT_EQ(waiting.find(JobId{3})->half, answer.start->half);
}

TEST(StartTrial, NamesAShorterLimitAndAnotherQueue) {
  ClusterConfig config = World::config();
  QueueConfig first = config.queues[0];
  first.name = "first";
  first.priority = 10;
  config.queues.push_back(first);
  Waiting waiting(config);
  waiting.fleet.add("n1", World::inventory("n1", 4));
  waiting.fleet.add("n2", World::inventory("n2", 4));
  waiting.submit(1, 4, hours(2));
  waiting.submit(1, 3, hours(2));
  waiting.submit(2, 4, hours(1));  // Starts after both, when nothing takes the GPU that is free.
  NewJob job = World::job(1, 1);
  job.spec.time_limit = hours(10);
  const TrialAnswer answer = try_job(waiting, job);
  ASSERT_TRUE(answer.start);
  EXPECT_FALSE(answer.fits_now);
  EXPECT_EQ(answer.start->half, waiting.world.at + hours(3));
  std::vector<std::string> options;
  for (const Sooner& one : answer.sooner) options.push_back(one.options);
  EXPECT_EQ(options, (std::vector<std::string>{"--queue first", "--time 1h15m"}));
  job.spec.time_limit = hours(1);
  EXPECT_TRUE(try_job(waiting, job).fits_now);
  EXPECT_TRUE(try_job(waiting, job).sooner.empty());
  job.spec.hold = true;
  EXPECT_FALSE(
      waiting.world.engine.begin_trial(World::user(), job.spec, waiting.world.at)->has_answer());
}

TEST(EstimateBook, CountsWhatWasOffAndForgetsAfterThirtyDays) {
  EstimateBook book;
  const Instant said{seconds(1000).us};
  book.promise(JobId{1}, {said, said + hours(1)});
  book.promise(JobId{1}, {said + hours(5), said + hours(5)});  // The first one counts.
  book.promise(JobId{2}, {said, said + hours(1)});
  book.promise(JobId{3}, {said, said + hours(1)});
  book.promise(JobId{4}, {said, said + hours(1)});
  book.promise(JobId{6}, {said, said + hours(1)});
  book.started(JobId{1}, {100, "gpu"}, said + seconds(5));
  book.started(JobId{2}, {100, "gpu"}, said + minutes(50));
  book.started(JobId{3}, {100, "cpu"}, said + hours(8));
  book.started(JobId{6}, {100, "cpu"}, said + hours(1) + seconds(50));  // As good as said.
  book.withdraw(JobId{4});
  book.started(JobId{4}, {100, "cpu"}, said);
  const EstimateSum all = book.sum();
  EXPECT_EQ(all.count, 4U);
  EXPECT_EQ(all.half_held, 1U);
  EXPECT_EQ(all.most_held, 3U);
  EXPECT_EQ(all.late_count(), 4U);
  EXPECT_GE(all.error_median(), minutes(50));
  EXPECT_LE(all.error_median(), hours(2));
  EXPECT_EQ(book.sum("gpu").count, 2U);
  book.promise(JobId{5}, {said, said});
  book.started(JobId{5}, {100 + kEstimateDays, "gpu"}, said);
  EXPECT_EQ(book.sum().count, 1U);
  EXPECT_TRUE(book.promises().empty());
}

}  // namespace
}  // namespace muster
