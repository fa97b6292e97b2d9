// Random commands, faults and restarts, by seed: nothing is granted twice, the digest follows, a
// replay agrees, and after healing everything ends.
#include <gtest/gtest.h>

#include "base/types/rng.h"
#include "controller/core/image.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : rng_(seed), world_(std::make_unique<World>()), fleet_(*world_) {
    ClusterConfig config = World::config();
    config.limits.prepare_timeout = seconds(10);
    config.limits.forget_after = seconds(30);
    world_->begin(config);
    const std::uint64_t nodes = rng_.between(2, 6);
    for (std::uint64_t i = 1; i <= nodes; ++i) {
      const std::string name = std::to_string(i);
      fleet_.add("n" + name,
                 World::inventory(name, static_cast<std::uint32_t>(rng_.below(5)), 8, 16000));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      once();
      check();
      if (::testing::Test::HasFailure()) return;
    }
    heal();
  }

 private:
  std::string any_node() { return "n" + std::to_string(rng_.between(1, fleet_.workers().size())); }

  JobSelection any_job() {
    JobSelection which;
    const std::uint64_t last = world_->engine.cluster().job_next().value;
    which.elements = {
        {JobId{rng_.between(1, last)}, Element{static_cast<std::uint32_t>(rng_.below(4))}}};
    which.element_given = {rng_.chance(300)};
    return which;
  }

  void submit() {
    NewJob job = World::job(static_cast<std::uint32_t>(rng_.between(1, 3)),
                            static_cast<std::uint32_t>(rng_.below(3)));
    Group& group = job.spec.groups[0];
    group.cpus_per_node = static_cast<std::uint32_t>(rng_.between(1, 4));
    group.memory_mib_per_node = rng_.chance(300) ? 0 : rng_.between(1, 8000);
    if (group.gpus_per_node != 0 && rng_.chance(200)) group.gpu_milli = 500;
    job.spec.hold = rng_.chance(100);
    job.spec.requeue = rng_.chance(800);
    job.spec.first_node_only = rng_.chance(300);
    job.spec.priority = -static_cast<std::int32_t>(rng_.below(3));
    if (rng_.chance(200)) job.spec.depends = any_depends();
    if (rng_.chance(100)) job.spec.begin = soon();
    if (rng_.chance(100)) job.spec.deadline = {soon().us + hours(1).us};
    if (rng_.chance(300)) {
      job.spec.array.ranges = {{static_cast<std::uint32_t>(rng_.below(3)), 6,
                                static_cast<std::uint32_t>(rng_.between(1, 2))}};
      job.spec.array.running_max = static_cast<std::uint32_t>(rng_.below(3));
    }
    fleet_.step(SubmitJobs{World::user(), world_->next_request(), {job}, rng_.chance(100)});
  }

  SetJobs change(const Requester& who) {
    SetJobs set;
    set.who = who;
    set.which = any_job();
    if (rng_.chance(500)) {
      set.time_limit = minutes(30);
      set.priority = -static_cast<std::int32_t>(rng_.below(5));
      set.name = "renamed";
      return set;
    }
    if (rng_.chance(300)) set.throttle = static_cast<std::uint32_t>(rng_.below(3));
    if (rng_.chance(300)) set.begin = rng_.chance(500) ? WallTime{} : soon();
    if (rng_.chance(300)) set.depends = any_depends();
    return set;
  }
  WallTime soon() {
    return {world_->now().wall.us + seconds(static_cast<std::int64_t>(rng_.below(100))).us};
  }
  Depends any_depends() {
    Depends depends;
    const std::uint64_t last = world_->engine.cluster().job_next().value;
    for (std::uint64_t i = rng_.below(3); i != 0; --i)
      depends.conditions.push_back(
          {static_cast<After>(rng_.below(4)), JobId{rng_.between(1, last)}, {}, {}});
    if (rng_.chance(200)) depends.conditions.push_back({After::kSingleton, {}, {}, {}});
    depends.any = rng_.chance(500);
    depends.kill_invalid = rng_.chance(700);
    return depends;
  }

  void person() {
    const Requester who = rng_.chance(500) ? World::user() : World::admin();
    switch (rng_.below(6)) {
      case 0:
        fleet_.step(CancelJobs{who, any_job(), rng_.chance(200) ? 10 : 0});
        break;
      case 1:
        fleet_.step(HoldJobs{who, any_job()});
        break;
      case 2:
        fleet_.step(ReleaseJobs{who, any_job()});
        break;
      case 3:
        fleet_.step(RequeueJobs{who, any_job()});
        break;
      case 4:
        fleet_.step(TopJobs{who, any_job()});
        break;
      default:
        fleet_.step(change(who));
    }
  }

  void task_ends() {
    FakeWorker& worker = fleet_.at(any_node());
    for (const auto& [key, report] : worker.attempts) {
      if (report.phase != AttemptPhase::kRunning || rng_.chance(500)) continue;
      const AttemptKey ended = key;
      if (rng_.chance(600)) return worker.end(ended, CauseKind::kCompleted);
      if (rng_.chance(500)) return worker.end(ended, CauseKind::kExited, 3);
      return worker.end(ended, CauseKind::kSignalled, 0, Retry::kAnywhere);
    }
  }

  void trouble() {
    const std::string name = any_node();
    FakeWorker& worker = fleet_.at(name);
    switch (rng_.below(7)) {
      case 0:
        worker.reboot();
        fleet_.hello(name);
        break;
      case 1:
        fleet_.lose(name);
        break;
      case 2:
        fleet_.hello(name);
        break;
      case 3:
        worker.fails_prepare = !worker.fails_prepare;
        break;
      case 4: {
        const NodeVerb verb = rng_.chance(500) ? NodeVerb::kDrain : NodeVerb::kResume;
        fleet_.step(ChangeNodes{World::admin(), verb, {name}, "test"});
        break;
      }
      case 5:
        worker.deaf = !worker.deaf;
        break;
      default:
        restart();
    }
  }

  // The controller is killed: what it knew from messages is gone, and the workers are connected to
  // nobody.
  void restart() {
    auto next = std::make_unique<World>();
    for (const Record& record : world_->journal) next->engine.replay(record);
    ASSERT_EQ(next->engine.cluster().digest(), world_->engine.cluster().digest());
    next->journal = std::move(world_->journal);
    next->at = world_->at;
    next->skip_requests(world_->requests());
    const ClusterConfig config = world_->engine.cluster().config();
    *world_ = std::move(*next);
    for (auto& [name, worker] : fleet_.workers()) {
      worker.connected = false;
      worker.outbox.clear();
    }
    fleet_.step(
        BeginEpoch{Epoch{world_->engine.cluster().epoch().value + 1}, "c1", "boot", "0.1.0"});
  }

  void pass_time() {
    world_->at = world_->at + milliseconds(static_cast<std::int64_t>(rng_.between(1, 8000)));
    for (auto& [name, worker] : fleet_.workers()) {
      if (worker.connected && !worker.deaf) fleet_.step(WorkerHeard{name});
    }
    if (rng_.chance(300)) fleet_.step(FeedReached{world_->engine.seq_last()});
    fleet_.step(Tick{});
  }

  void once() {
    const std::uint64_t dice = rng_.below(100);
    if (dice < 15)
      submit();
    else if (dice < 35)
      fleet_.step(SchedulePass{{static_cast<std::uint32_t>(rng_.between(1, 3)), 4}});
    else if (dice < 70)
      fleet_.speak(any_node());
    else if (dice < 80)
      task_ends();
    else if (dice < 88)
      person();
    else if (dice < 93)
      pass_time();
    else
      trouble();
  }

  void check_grants() {
    std::map<DeviceId, std::uint64_t> milli;
    std::map<NodeId, std::uint64_t> cpus;
    std::map<NodeId, std::uint64_t> memory;
    for (const auto& [key, attempt] : world_->engine.cluster().attempts()) {
      for (const Member& member : attempt.place->members) {
        cpus[member.node] += member.cpus;
        memory[member.node] += member.memory_mib;
        for (const Grant& grant : member.grants) milli[grant.device] += grant.milli;
      }
    }
    for (const auto& [device, used] : milli)
      ASSERT_LE(used, kMilliPerGpu) << "device " << device.value;
    for (const auto& [node, used] : cpus) ASSERT_LE(used, 8U);
    for (const auto& [node, used] : memory) ASSERT_LE(used, 16000U);
  }

  void check_counts() {
    std::uint64_t active = 0;
    for (const auto& [id, job] : world_->engine.cluster().jobs()) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < kElementStates; ++i) {
        const auto state = static_cast<ElementState>(i);
        std::uint32_t listed = 0;
        for (const IndexRange& range : job.ranges_in(state))
          listed += (range.last - range.first) / range.step + 1;
        ASSERT_EQ(listed, job.count(state));
        sum += listed;
      }
      ASSERT_EQ(sum, job.elements());
      active += job.count(ElementState::kActive);
      const std::uint32_t most = job.facts().terms->array.running_max;
      // A lowered limit stops nobody, but nobody starts above it.
      std::uint32_t& before = active_before_[id];
      const std::uint32_t now = job.count(ElementState::kActive);
      ASSERT_TRUE(most == 0 || now <= std::max(most, before));
      before = now;
    }
    ASSERT_EQ(active, world_->engine.cluster().attempts().size());
  }

  void check_recount() {
    const Cluster& cluster = world_->engine.cluster();
    ClusterImage image;
    ClusterImage::take_apart(cluster, WallTime{}, [&](const ImageItem& item) {
      const Result<void> added = image.add(item);
      ASSERT_TRUE(added.ok()) << added.error().message;
    });
    const Result<Cluster> again = image.finish(cluster.digest());
    ASSERT_TRUE(again.ok()) << again.error().message;
  }

  // A task that runs belongs to an attempt that the controller knows: it never begins another
  // beside it.
  void check_running() {
    for (const auto& [name, worker] : fleet_.workers()) {
      for (const auto& [key, report] : worker.attempts) {
        if (report.phase != AttemptPhase::kRunning) continue;
        ASSERT_NE(world_->engine.cluster().find_attempt(key), nullptr)
            << name << " runs " << to_text(key);
      }
    }
  }

  void check() {
    check_running();
    check_grants();
    check_counts();
    if (rng_.chance(50)) check_recount();
  }

  // All workers come back and keep their word: what can run runs, and a fresh job gets through.
  void heal() {
    for (auto& [name, worker] : fleet_.workers()) {
      worker.deaf = false;
      worker.fails_prepare = false;
      fleet_.hello(name);
      fleet_.step(ChangeNodes{World::admin(), NodeVerb::kResume, {name}, "healed"});
    }
    const JobId fresh = world_->submitted(World::job(1, 0));
    for (int round = 0; round < 300 && world_->engine.cluster().jobs_unfinished() != 0; ++round) {
      // Also what is held only now, for faults from before.
      fleet_.step(ReleaseJobs{World::admin(), {{}, {}, {}, {"kim"}, {}, false}});
      fleet_.step(SchedulePass{});
      fleet_.settle();
      for (auto& [name, worker] : fleet_.workers()) {
        const std::map<AttemptKey, AttemptReport> attempts = worker.attempts;
        for (const auto& [key, report] : attempts) {
          if (report.phase == AttemptPhase::kRunning) worker.end(key, CauseKind::kCompleted);
        }
        fleet_.step(WorkerHeard{name});
      }
      fleet_.settle();
      cancel_hopeless();
      world_->at = world_->at + seconds(5);
      fleet_.step(Tick{});
      check();
    }
    const Job* job = world_->engine.cluster().find_job(fresh);
    ASSERT_TRUE(job == nullptr || job->is_ended());
    ASSERT_EQ(world_->engine.cluster().jobs_unfinished(), 0U);
    ASSERT_EQ(world_->engine.cluster().attempts().size(), 0U);
    for (const auto& [name, worker] : fleet_.workers())
      ASSERT_TRUE(worker.attempts.empty()) << name;
    ASSERT_EQ(world_->digest_of_replay(), world_->engine.cluster().digest());
  }

  // What can never start stays until somebody says so; nothing else may.
  void cancel_hopeless() {
    JobSelection hopeless;
    for (const auto& [id, job] : world_->engine.cluster().jobs()) {
      const auto first = job.first_in(ElementState::kWaiting);
      const auto why = first ? world_->engine.explain({id, *first}, world_->at) : std::nullopt;
      if (!why || why->reason != WaitReason::kDependencyNever) continue;
      hopeless.elements.push_back({id, {}});
      hopeless.element_given.push_back(false);
    }
    if (!hopeless.elements.empty()) fleet_.step(CancelJobs{World::admin(), hopeless, 0});
  }

  std::map<JobId, std::uint32_t> active_before_;  // At the last check.
  Rng rng_;
  std::unique_ptr<World> world_;
  FakeFleet fleet_;
};

class ChaosSeeds : public ::testing::TestWithParam<int> {};

TEST_P(ChaosSeeds, KeepsItsPromises) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::uint64_t whole = static_cast<std::uint64_t>(GetParam()) * 20 + seed;
    SCOPED_TRACE("seed " + std::to_string(whole));
    Chaos(whole).run(400);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChaosSeeds, ::testing::Range(0, 10));

}  // namespace
}  // namespace muster
