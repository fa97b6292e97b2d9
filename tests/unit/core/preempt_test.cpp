// Random clusters and queues: only those are stopped that a rule allows, long enough after their
// launch, and what others were stopped for runs at once.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/types/rng.h"
#include "tests/unit/core/fake_fleet.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

class Preempting {
 public:
  explicit Preempting(std::uint64_t seed) : rng_(seed), fleet_(world_) {
    ClusterConfig config = World::config();
    QueueConfig spot = config.queues[0];
    spot.name = "spot";
    spot.preempt_after = minutes(static_cast<std::int64_t>(rng_.between(0, 20)));
    QueueConfig day = spot;
    day.name = "day";
    day.priority = 5;
    QueueConfig urgent = spot;
    urgent.name = "urgent";
    urgent.priority = 10;
    urgent.preempts = {"spot"};
    config.queues = {spot, day, urgent};
    config.queue_default = "spot";
    config.qos = {QosConfig{}, QosConfig{}};
    config.qos[0].name = "spare";
    config.qos[0].preempt_after = minutes(static_cast<std::int64_t>(rng_.between(0, 20)));
    config.qos[1].name = "high";
    config.qos[1].preempts = {"spare"};
    spare_after_ = config.qos[0].preempt_after;
    has_qos_ = seed % 2 == 1;
    preempt_after_ = spot.preempt_after;
    world_.begin(config);
    nodes_ = rng_.between(2, 5);
    for (std::uint64_t i = 1; i <= nodes_; ++i) {
      const std::string name = "n" + std::to_string(i);
      fleet_.add(name, World::inventory(std::to_string(i), 8, 32, 64000));
    }
  }

  std::size_t by_qos() const { return by_qos_; }
  // Answers how many attempts were stopped for others.
  std::size_t run() {
    for (int i = 0; i < 120; ++i) {
      for (std::uint64_t jobs = rng_.below(4); jobs > 0; --jobs) submit();
      world_.at = world_.at + minutes(static_cast<std::int64_t>(rng_.between(1, 10)));
      for (const auto& [name, worker] : fleet_.workers()) fleet_.step(WorkerHeard{name});
      fleet_.step(Tick{});
      fleet_.settle();
      check();
      for (std::uint64_t ends = rng_.below(4); ends > 0; --ends) end_one();
      fleet_.settle();
      check();
    }
    return stopped_;
  }

 private:
  void submit() {
    const bool wide = rng_.chance(300);
    NewJob job = World::job(static_cast<std::uint32_t>(wide ? rng_.between(1, nodes_) : 1),
                            static_cast<std::uint32_t>(wide ? 8 : rng_.between(1, 8)));
    job.spec.groups[0].cpus_per_node = static_cast<std::uint32_t>(rng_.between(1, 16));
    job.spec.time_limit = hours(static_cast<std::int64_t>(rng_.between(1, 10)));
    const std::uint64_t dice = rng_.below(10);
    job.spec.queue = dice < 6 ? "spot" : dice == 6 ? "day" : "urgent";
    if (has_qos_ && rng_.chance(700)) job.spec.qos = rng_.chance(300) ? "high" : "spare";
    world_.submitted(job);
    fleet_.settle();
  }

  void end_one() {
    std::vector<AttemptKey> running;
    for (const auto& [key, attempt] : world_.engine.cluster().attempts()) running.push_back(key);
    if (running.empty()) return;
    const AttemptKey key = running[rng_.below(running.size())];
    for (auto& [name, worker] : fleet_.workers()) worker.end(key, CauseKind::kCompleted);
  }

  const JobFacts& facts_of(JobId id) const { return world_.engine.cluster().find_job(id)->facts(); }

  // What the journal says since the last time.
  void check() {
    std::set<std::string> preemptors;
    for (; looked_at_ < world_.journal.size(); ++looked_at_) {
      const Record& record = world_.journal[looked_at_];
      for (const Event& event : record.events) {
        if (const auto* launched = std::get_if<AttemptLaunched>(&event))
          launched_at_[launched->key] = record.at;
        const auto* stopping = std::get_if<AttemptStopping>(&event);
        if (stopping == nullptr || stopping->cause.kind != CauseKind::kPreempted) continue;
        ++stopped_;
        const JobFacts& victim = facts_of(stopping->key.job);
        const JobFacts& other = facts_of(JobId{std::stoull(stopping->cause.by.substr(4))});
        const bool is_by_queue = other.queue() == "urgent" && victim.queue() == "spot";
        const bool is_by_qos = other.qos() == "high" && victim.qos() == "spare" &&
                               priorities_[other.queue()] >= priorities_[victim.queue()];
        EXPECT_TRUE(is_by_queue || is_by_qos) << other.queue() << " stops " << victim.queue();
        by_qos_ += is_by_queue ? 0U : 1U;
        EXPECT_TRUE(stopping->requeue);
        EXPECT_GE(record.at - launched_at_[stopping->key], preempt_after_);
        if (victim.qos() == "spare") {
          EXPECT_GE(record.at - launched_at_[stopping->key], spare_after_);
        }
        preemptors.insert(stopping->cause.by);
      }
    }
    for (const std::string& name : preemptors) {
      const JobId id{std::stoull(name.substr(4))};
      EXPECT_NE(world_.engine.cluster().find_job(id)->state_of({}), ElementState::kPending)
          << name << " waits though others were stopped for it";
    }
  }

  Rng rng_;
  World world_;
  FakeFleet fleet_;
  std::uint64_t nodes_ = 0;
  std::map<std::string, int> priorities_{{"spot", 0}, {"day", 5}, {"urgent", 10}};
  Duration preempt_after_;
  Duration spare_after_;
  bool has_qos_ = false;
  std::size_t by_qos_ = 0;
  std::size_t looked_at_ = 0;
  std::size_t stopped_ = 0;
  std::map<AttemptKey, Instant> launched_at_;
};

TEST(Preempt, StopsOnlyWhomItMayAndForAUse) {
  std::size_t stopped = 0;
  std::size_t by_qos = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Preempting preempting(seed);
    stopped += preempting.run();
    by_qos += preempting.by_qos();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(stopped, 200U);
  EXPECT_GT(by_qos, 30U);
}

}  // namespace
}  // namespace muster
