// Random jobs that wait for one another, with random ends, holds, restarts and forgetting: who
// stands in line is who a plain recount of the journal says.
#include <gtest/gtest.h>

#include "base/types/rng.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

struct Fate {
  bool begun = false;
  bool ended = false;
  bool ok = false;
  Instant begun_at;
};
struct Known {
  JobSpec spec;
  Uid uid;
  std::map<std::uint32_t, Fate> elements;
  std::map<std::uint32_t, bool> ready;  // Stood in line once.
  bool over() const {
    for (const auto& [index, outcome] : elements) {
      if (!outcome.ended) return false;
    }
    return true;
  }
};

enum class Says { kOpen, kHolds, kNever };

// All that was ever journalled, counted again from nothing.
class Recount {
 public:
  void take(const Record& record) {
    for (const Event& event : record.events) {
      at_ = record.at;
      std::visit(*this, event);
    }
  }
  void operator()(const JobSubmitted& event) {
    Known& job = jobs_[event.job];
    job.spec = event.spec;
    job.uid = event.uid;
    for (std::uint32_t i = 0; i < elements_total(event.spec.array); ++i)
      job.elements[element_at(event.spec.array, i).value];
  }
  void operator()(const GateChanged& event) {
    if (event.depends) jobs_[event.job].spec.depends = *event.depends;
  }
  void operator()(const ElementsEnded& event) {
    each(event.job, event.elements, [&](Fate& outcome) {
      if (!outcome.begun) outcome.begun_at = at_;
      outcome.begun = outcome.ended = true;
      outcome.ok = event.cause.kind == CauseKind::kCompleted;
    });
    const Says said = event.cause.kind == CauseKind::kDependency ? Says::kNever : Says::kOpen;
    if (said != Says::kNever) return;
    for (const IndexRange& range : event.elements)
      EXPECT_EQ(judge(event.job, range.first), Says::kNever) << event.job.value;
  }
  void operator()(const AttemptLaunched& event) {
    Fate& outcome = jobs_[event.key.job].elements[event.key.element.value];
    outcome.begun = true;
    outcome.begun_at = at_;
  }
  void operator()(const ElementRequeued& event) {
    jobs_[event.job].elements[event.element.value].begun = false;
  }
  void operator()(const ElementsReady& event) {
    for (const IndexRange& range : event.elements) {
      for (std::uint32_t i = range.first; i <= range.last; i += range.step) {
        EXPECT_EQ(judge(event.job, i), Says::kHolds) << event.job.value << "_" << i;
        jobs_[event.job].ready[i] = true;
      }
    }
  }
  template <class Other>
  void operator()(const Other&) {}

  Says judge(JobId id, std::uint32_t element) const {
    const Known& job = jobs_.at(id);
    if (!job.spec.depends || job.spec.depends->conditions.empty()) return Says::kHolds;
    std::size_t holds = 0;
    std::size_t never = 0;
    for (const Condition& condition : job.spec.depends->conditions) {
      const Says says = one(id, job, condition, element);
      holds += says == Says::kHolds ? 1U : 0U;
      never += says == Says::kNever ? 1U : 0U;
    }
    const std::size_t all = job.spec.depends->conditions.size();
    if (job.spec.depends->any) {
      if (holds != 0) return Says::kHolds;
      return never == all ? Says::kNever : Says::kOpen;
    }
    if (never != 0) return Says::kNever;
    return holds == all ? Says::kHolds : Says::kOpen;
  }
  void set_now(Instant now) { at_ = now; }
  const std::map<JobId, Known>& jobs() const { return jobs_; }

 private:
  template <class Change>
  void each(JobId job, const std::vector<IndexRange>& ranges, Change change) {
    for (const IndexRange& range : ranges) {
      for (std::uint32_t i = range.first; i <= range.last; i += range.step)
        change(jobs_[job].elements[i]);
    }
  }
  Says one(JobId id, const Known& job, const Condition& condition, std::uint32_t element) const {
    if (condition.kind == After::kSingleton) {
      for (const auto& [other, known] : jobs_) {
        if (other >= id) break;
        if (known.uid == job.uid && known.spec.name == job.spec.name && !known.over())
          return Says::kOpen;
      }
      return Says::kHolds;
    }
    std::vector<const Fate*> named;
    for (const auto& [index, outcome] : jobs_.at(condition.job).elements) {
      const bool is_meant = condition.kind == After::kCorr
                                ? index == element
                                : !condition.element || condition.element->value == index;
      if (is_meant) named.push_back(&outcome);
    }
    bool begun = true;
    bool ended = true;
    bool failed = false;
    Instant last;
    for (const Fate* outcome : named) {
      begun = begun && outcome->begun;
      ended = ended && outcome->ended;
      failed = failed || (outcome->ended && !outcome->ok);
      last = std::max(last, outcome->begun_at);
    }
    switch (condition.kind) {
      case After::kStarted:
        return begun && last + condition.delay <= at_ ? Says::kHolds : Says::kOpen;
      case After::kNotOk:
        return !ended ? Says::kOpen : failed ? Says::kHolds : Says::kNever;
      case After::kAny:
        return ended ? Says::kHolds : Says::kOpen;
      default:
        return failed ? Says::kNever : ended ? Says::kHolds : Says::kOpen;
    }
  }

  std::map<JobId, Known> jobs_;
  Instant at_;
};

class Dag {
 public:
  explicit Dag(std::uint64_t seed)
      : rng_(seed), world_(std::make_unique<World>()), fleet_(*world_) {
    ClusterConfig config = World::config();
    config.limits.forget_after = seconds(20);
    config.queues[0].retries_max = 1;
    world_->begin(config);
    for (const char* name : {"1", "2"})
      fleet_.add("n" + std::string(name), World::inventory(name, 3, 8, 16000));
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      once();
      fleet_.settle();
      check();
    }
    EXPECT_EQ(world_->digest_of_replay(), world_->engine.cluster().digest());
  }
  std::size_t waited() const { return waited_; }
  std::size_t readied() const { return readied_; }

 private:
  Condition any_condition(bool array) {
    Condition condition;
    condition.kind = static_cast<After>(rng_.below(6));
    if (condition.kind == After::kSingleton) return condition;
    condition.job = JobId{rng_.between(1, world_->engine.cluster().job_next().value)};
    const Job* job = world_->engine.cluster().find_job(condition.job);
    const bool target_array = job != nullptr && job->is_array();
    if (condition.kind == After::kCorr && !(array && target_array)) condition.kind = After::kOk;
    if (condition.kind == After::kStarted && rng_.chance(500)) condition.delay = minutes(1);
    if (condition.kind != After::kCorr && target_array && rng_.chance(300))
      condition.element = Element{static_cast<std::uint32_t>(rng_.below(4))};
    return condition;
  }
  Depends any_depends(bool array) {
    Depends depends;
    depends.any = rng_.chance(400);
    depends.kill_invalid = rng_.chance(400);
    for (std::uint64_t i = rng_.between(1, 3); i != 0; --i)
      depends.conditions.push_back(any_condition(array));
    return depends;
  }
  void submit() {
    NewJob job = World::job(1, 1, rng_.chance(500) ? "even" : "odd");
    if (rng_.chance(400)) job.spec.array.ranges = {{0, 3, 1}};
    job.spec.hold = rng_.chance(150);
    if (rng_.chance(700)) job.spec.depends = any_depends(!job.spec.array.ranges.empty());
    fleet_.step(SubmitJobs{World::user(), world_->next_request(), {job}, false});
  }
  JobSelection any_job() {
    JobSelection which;
    which.elements = {{JobId{rng_.between(1, world_->engine.cluster().job_next().value)},
                       Element{static_cast<std::uint32_t>(rng_.below(4))}}};
    which.element_given = {rng_.chance(400)};
    return which;
  }
  void end_some() {
    for (auto& [name, worker] : fleet_.workers()) {
      for (const auto& [key, report] : worker.attempts) {
        if (report.phase != AttemptPhase::kRunning || rng_.chance(500)) continue;
        const AttemptKey ended = key;
        if (rng_.chance(600)) return worker.end(ended, CauseKind::kCompleted);
        if (rng_.chance(600)) return worker.end(ended, CauseKind::kExited, 3);
        return worker.end(ended, CauseKind::kSignalled, 0, Retry::kAnywhere);
      }
    }
  }
  void restart() {
    auto next = std::make_unique<World>();
    for (const Record& record : world_->journal) next->engine.replay(record);
    next->journal = world_->journal;
    next->at = world_->at;
    next->skip_requests(world_->requests());
    *world_ = std::move(*next);
    for (auto& [name, worker] : fleet_.workers()) worker.connected = false;
    fleet_.step(
        BeginEpoch{Epoch{world_->engine.cluster().epoch().value + 1}, "c1", "boot", "0.1.0"});
    for (auto& [name, worker] : fleet_.workers()) fleet_.hello(name);
    tick(seconds(1));
  }
  void tick(Duration after) {
    world_->at = world_->at + after;
    for (auto& [name, worker] : fleet_.workers()) fleet_.step(WorkerHeard{name});
    fleet_.step(Tick{});
  }
  void once() {
    switch (rng_.below(12)) {
      case 0:
      case 1:
      case 2:
        return submit();
      case 3:
      case 4:
      case 5:
      case 6:
        return end_some();
      case 7:
        if (rng_.chance(500)) return void(fleet_.step(CancelJobs{World::user(), any_job(), 0}));
        return void(fleet_.step(HoldJobs{World::user(), any_job()}));
      case 8:
        return void(fleet_.step(ReleaseJobs{World::user(), any_job()}));
      case 9: {
        SetJobs set;
        set.who = World::user();
        set.which = any_job();
        set.which.element_given = {false};
        set.depends = any_depends(false);
        return void(fleet_.step(set));
      }
      case 10:
        if (rng_.chance(100)) return restart();
        fleet_.step(FeedReached{world_->engine.seq_last()});
        return tick(seconds(5));
      default:
        return tick(seconds(5));
    }
  }

  void check() {
    for (; taken_ < world_->journal.size(); ++taken_) recount_.take(world_->journal[taken_]);
    recount_.set_now(last_tick());
    for (const auto& [id, known] : recount_.jobs()) {
      const Job* job = world_->engine.cluster().find_job(id);
      if (job == nullptr) {
        ASSERT_TRUE(known.over()) << id.value;
        continue;
      }
      for (const auto& [index, outcome] : known.elements) check_element(*job, known, index);
    }
  }
  // A delay is seen to be over by a tick.
  Instant last_tick() const { return world_->at; }

  void check_element(const Job& job, const Known& known, std::uint32_t index) {
    if (job.state_of(Element{index}) != ElementState::kWaiting) {
      readied_ += known.ready.count(index);
      return;
    }
    ++waited_;
    const JobId id = job.facts().id;
    const Says says = recount_.judge(id, index);
    ASSERT_NE(says, Says::kHolds) << "job " << id.value << "_" << index << " "
                                  << to_text(*known.spec.depends);
    const bool to_be_killed = says == Says::kNever && known.spec.depends->kill_invalid;
    ASSERT_FALSE(to_be_killed) << "job " << id.value << " " << to_text(*known.spec.depends);
    const auto why = world_->engine.explain({id, Element{index}}, world_->at);
    ASSERT_TRUE(why.has_value());
    EXPECT_EQ(why->reason,
              says == Says::kNever ? WaitReason::kDependencyNever : WaitReason::kDependency);
  }

  Rng rng_;
  std::unique_ptr<World> world_;
  FakeFleet fleet_;
  Recount recount_;
  std::size_t taken_ = 0;
  std::size_t waited_ = 0;
  std::size_t readied_ = 0;
};

TEST(Gates, AreOpenedAsAPlainRecountSays) {
  std::size_t waited = 0;
  std::size_t readied = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dag dag(seed);
    dag.run(150);
    waited += dag.waited();
    readied += dag.readied();
  }
  EXPECT_GT(waited, 1000U);
  EXPECT_GT(readied, 1000U);
}

// What many wait for costs what depends on it, not what is in the queue.
TEST(Gates, AChainIsWalkedStepByStep) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 1));
  JobId before = world.submitted(World::job(1, 1));
  const JobId first = before;
  for (int i = 0; i < 200; ++i) {
    NewJob job = World::job(1, 1);
    job.spec.depends = Depends{{{After::kOk, before, {}, {}}}, false, true};
    before = world.submitted(job);
  }
  JobSelection which;
  which.elements = {{first, {}}};
  which.element_given = {false};
  const Outcome out = world.step(CancelJobs{World::user(), which, 0});
  EXPECT_EQ(world.state(before), ElementState::kEnded);
  EXPECT_EQ(out.record->events.size(), 201U);
  EXPECT_EQ(world.digest_of_replay(), world.engine.cluster().digest());
}

TEST(Gates, ABatchOfSingletonsOfOneNameIsQuick) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 8));
  SubmitJobs command{World::user(), world.next_request(), {}, false};
  NewJob job = World::job(1, 1, "one");
  job.spec.depends = Depends{{{After::kSingleton, {}, {}, {}}}, false, false};
  for (int i = 0; i < 10000; ++i) command.jobs.push_back(job);
  const Outcome out = world.step(command);
  ASSERT_EQ(out.reply.jobs.size(), 10000U);
  world.pass();
  EXPECT_EQ(world.engine.cluster().attempts().size(), 1U);
}

}  // namespace
}  // namespace muster
