// Limits over random mixes: never exceeded, whatever starts, ends, moves and is configured; and
// nobody is held back by what a limit holds back.
#include <gtest/gtest.h>

#include <functional>

#include "base/types/rng.h"
#include "controller/core/decide/limit_book.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

constexpr std::uint32_t kUsers = 4;
const char* const kAccounts[] = {"org", "vision", "speech", "deep", "lab"};
const char* const kQueues[] = {"gpu", "night"};
const char* const kQos[] = {"", "gold", "cheap"};

std::string user_name(std::uint32_t user) { return "u" + std::to_string(user); }

// Counted anew from what runs, the plain way.
struct Sum {
  std::uint64_t running = 0;
  std::uint64_t gpus_milli = 0;
  std::uint64_t cpus = 0;
  std::uint64_t nodes = 0;
  std::uint64_t gpu_milli_s = 0;
};

class Mix {
 public:
  Mix(std::uint64_t seed, bool with_minutes) : rng_(seed), with_minutes_(with_minutes) {
    world_.begin(random_config());
    for (int node = 1; node <= 4; ++node) {
      const std::string name = "n" + std::to_string(node);
      world_.add_node(name, World::inventory(std::to_string(node), 8));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      world_.pass();
      check_limits();
      if (i % 8 == 0) check_nobody_waits_for_nothing();
    }
  }
  std::size_t blocked() const { return blocked_; }
  World& world() { return world_; }

 private:
  bool chance(std::uint64_t percent) { return rng_.between(1, 100) <= percent; }
  std::uint32_t pick(std::uint32_t most) {
    return static_cast<std::uint32_t>(rng_.between(0, most - 1));
  }

  Limits random_limits() {
    Limits limits;
    if (chance(40)) return limits;
    if (chance(50)) limits.gpus = 2 + pick(14);
    if (chance(30)) limits.running_jobs = 1 + pick(6);
    if (chance(20)) limits.cpus = 4 + pick(40);
    if (chance(20)) limits.nodes = 1 + pick(6);
    if (with_minutes_ && chance(40)) limits.gpu_minutes = 100 + pick(2000);
    return limits;
  }

  ClusterConfig random_config() {
    ClusterConfig config = World::config();
    config.accounts.clear();
    const char* const parents[] = {"", "org", "org", "vision", ""};
    for (int i = 0; i < 5; ++i) {
      AccountConfig account{kAccounts[i], parents[i], {}};
      account.limits = random_limits();
      account.user_limits = random_limits();
      config.accounts.push_back(account);
    }
    QueueConfig night = config.queues[0];
    night.name = "night";
    config.queues.push_back(night);
    for (QueueConfig& queue : config.queues) {
      queue.planned_starts = with_minutes_ ? 4 : 0;
      queue.limits = random_limits();
      queue.user_limits = random_limits();
      queue.account_limits = random_limits();
    }
    for (const char* name : {"gold", "cheap"}) {
      QosConfig qos;
      qos.name = name;
      qos.limits = random_limits();
      qos.user_limits = random_limits();
      qos.account_limits = random_limits();
      config.qos.push_back(qos);
    }
    config.users = {{"*", random_limits()}, {"u1", random_limits()}};
    return config;
  }

  void act() {
    const std::uint32_t what = pick(100);
    if (what < 45) return submit();
    if (what < 80) return end_one();
    if (what < 88) return launch_all();
    if (what < 94) return change();
    world_.at = world_.at + seconds(static_cast<std::int64_t>(1 + pick(300)));
    for (int node = 1; node <= 4; ++node) world_.step(WorkerHeard{"n" + std::to_string(node)});
    world_.step(Tick{});
    if (what == 99) reconfigure();
  }

  // Lowered limits stop nothing that runs: all must end first.
  void reconfigure() {
    while (!world_.engine.cluster().attempts().empty()) end_one();
    world_.step(ApplyConfig{World::admin(), random_config()});
  }

  void submit() {
    NewJob job = World::job(1 + pick(2), pick(5));
    job.spec.groups[0].cpus_per_node = 1 + pick(6);
    if (job.spec.groups[0].gpus_per_node == 1 && chance(40)) job.spec.groups[0].gpu_milli = 300;
    job.spec.account = kAccounts[pick(5)];
    job.spec.queue = kQueues[pick(2)];
    job.spec.qos = kQos[pick(3)];
    job.spec.time_limit = minutes(static_cast<std::int64_t>(10 + pick(200)));
    job.spec.priority = -static_cast<std::int32_t>(pick(3));
    if (chance(20)) job.spec.array.ranges = {{1, 1 + pick(6), 1}};
    const std::uint32_t user = pick(kUsers);
    world_.submit(job, World::user(user_name(user), 1000 + user));
  }

  const Attempt* random_attempt() {
    const auto& attempts = world_.engine.cluster().attempts();
    if (attempts.empty()) return nullptr;
    auto it = attempts.begin();
    std::advance(it, pick(static_cast<std::uint32_t>(attempts.size())));
    return &it->second;
  }

  void end_one() {
    const Attempt* attempt = random_attempt();
    if (attempt == nullptr) return;
    const AttemptKey key = attempt->key;
    const auto place = attempt->place;
    for (const Member& member : place->members) {
      const std::string node = world_.engine.cluster().find_node(member.node)->name;
      if (world_.engine.cluster().find_attempt(key) == nullptr) return;
      world_.report(node, key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
    }
  }

  void launch_all() {
    const auto attempts = world_.engine.cluster().attempts();
    for (const auto& [key, attempt] : attempts) {
      if (attempt.launched) continue;
      for (const Member& member : attempt.place->members) {
        const std::string node = world_.engine.cluster().find_node(member.node)->name;
        world_.report(node, key, AttemptPhase::kPrepared);
      }
    }
  }

  void change() {
    const auto& jobs = world_.engine.cluster().jobs();
    if (jobs.empty()) return;
    auto it = jobs.begin();
    std::advance(it, pick(static_cast<std::uint32_t>(jobs.size())));
    SetJobs set;
    set.who = World::admin();
    set.which.elements = {{it->first, {}}};
    set.which.element_given = {false};
    if (chance(50)) set.account = kAccounts[pick(5)];
    if (chance(30)) set.qos = kQos[pick(3)];
    if (chance(40)) set.time_limit = minutes(static_cast<std::int64_t>(5 + pick(60)));
    world_.step(set);
  }

  Sum sum_of(const std::function<bool(const JobFacts&)>& counts) const {
    Sum sum;
    for (const auto& [key, attempt] : world_.engine.cluster().attempts()) {
      const JobFacts& facts = world_.engine.cluster().find_job(key.job)->facts();
      if (!counts(facts)) continue;
      ++sum.running;
      sum.nodes += attempt.place->members.size();
      std::uint64_t milli = 0;
      for (const Member& member : attempt.place->members) {
        sum.cpus += member.cpus;
        for (const Grant& grant : member.grants) milli += grant.milli;
      }
      sum.gpus_milli += milli;
      std::int64_t left = facts.time_limit().seconds();
      if (attempt.launched)
        left = std::max<std::int64_t>(
            0, (attempt.launched_at + facts.time_limit()).us / 1000000 - world_.at.us / 1000000);
      sum.gpu_milli_s += milli * static_cast<std::uint64_t>(left);
    }
    return sum;
  }

  void check(const Limits& limits, const std::function<bool(const JobFacts&)>& counts,
             const std::string& whose) {
    if (limits.is_none()) return;
    const Sum sum = sum_of(counts);
    const auto within = [&](std::uint64_t limit, std::uint64_t used) {
      EXPECT_TRUE(limit == 0 || used <= limit) << whose << ": " << used << " of " << limit;
    };
    within(limits.running_jobs, sum.running);
    within(std::uint64_t{limits.gpus} * 1000, sum.gpus_milli);
    within(limits.cpus, sum.cpus);
    within(limits.nodes, sum.nodes);
    within(limits.gpu_minutes * 60 * 1000, sum.gpu_milli_s);
  }

  bool below(const std::string& account, const std::string& above) const {
    for (std::string at = account; !at.empty();) {
      if (at == above) return true;
      at = world_.engine.cluster().find_account(at)->parent;
    }
    return false;
  }

  void check_limits() {
    const ClusterConfig& config = world_.engine.cluster().config();
    for (std::uint32_t user = 0; user < kUsers; ++user) {
      const Uid uid{1000 + user};
      const auto is_own = [&](const JobFacts& job) { return job.uid() == uid; };
      check(config.users[user == 1 ? 1 : 0].limits, is_own, user_name(user));
      for (const AccountConfig& account : config.accounts) {
        check(
            account.user_limits,
            [&](const JobFacts& job) { return is_own(job) && below(job.account(), account.name); },
            user_name(user) + " in account " + account.name);
      }
      for (const QueueConfig& queue : config.queues) {
        check(
            queue.user_limits,
            [&](const JobFacts& job) { return is_own(job) && job.queue() == queue.name; },
            user_name(user) + " in queue " + queue.name);
      }
      for (const QosConfig& qos : config.qos) {
        check(
            qos.user_limits,
            [&](const JobFacts& job) { return is_own(job) && job.qos() == qos.name; },
            user_name(user) + " in QOS " + qos.name);
      }
    }
    for (const AccountConfig& account : config.accounts) {
      const auto counts = [&](const JobFacts& job) { return below(job.account(), account.name); };
      check(account.limits, counts, "account " + account.name);
      for (const QueueConfig& queue : config.queues) {
        check(
            queue.account_limits,
            [&](const JobFacts& job) { return counts(job) && job.queue() == queue.name; },
            account.name + " in queue " + queue.name);
      }
    }
    for (const QueueConfig& queue : config.queues) {
      check(
          queue.limits, [&](const JobFacts& job) { return job.queue() == queue.name; },
          "queue " + queue.name);
    }
    for (const QosConfig& qos : config.qos) {
      check(
          qos.limits, [&](const JobFacts& job) { return job.qos() == qos.name; },
          "QOS " + qos.name);
    }
  }

  // What waits has no room, or a limit that is reached.
  void check_nobody_waits_for_nothing() {
    if (with_minutes_) return;  // There a shorter job may stand behind a longer one of its owner.
    for (const auto& [id, job] : world_.engine.cluster().jobs()) {
      const auto element = job.first_in(ElementState::kPending);
      if (!element) continue;
      const auto why = world_.engine.explain({id, *element}, world_.at);
      ASSERT_TRUE(why.has_value());
      const bool is_limit = why->reason >= WaitReason::kUserLimit;
      blocked_ += is_limit ? 1U : 0U;
      const bool has_no_room =
          why->reason == WaitReason::kNoFreeGpus || why->reason == WaitReason::kNoFreeCpus ||
          why->reason == WaitReason::kNoFreeMemory || why->reason == WaitReason::kNeverPossible ||
          why->reason == WaitReason::kBackoff;
      EXPECT_TRUE(is_limit || has_no_room) << id.value << ": " << why->sentence;
    }
  }

  Rng rng_;
  bool with_minutes_;
  World world_;
  std::size_t blocked_ = 0;
};

TEST(Limits, AreNeverExceededAndHoldBackNobodyElse) {
  std::size_t blocked = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Mix mix(seed, false);
    mix.run(250);
    blocked += mix.blocked();
    EXPECT_EQ(mix.world().digest_of_replay(), mix.world().engine.cluster().digest());
  }
  EXPECT_GT(blocked, 100U);
}

TEST(Limits, HoldForMinutesThatRunAndPlannedStarts) {
  for (std::uint64_t seed = 101; seed <= 108; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Mix(seed, true).run(250);
  }
}

// The counters after any history are those that a restart counts.
TEST(Limits, AreCountedTheSameAfterARestart) {
  for (std::uint64_t seed = 201; seed <= 203; ++seed) {
    Mix mix(seed, true);
    mix.run(250);
    Engine again;
    for (const Record& record : mix.world().journal) again.replay(record);
    for (const auto& [id, job] : mix.world().engine.cluster().jobs()) {
      const auto element = job.first_in(ElementState::kPending);
      if (!element) continue;
      const auto one = mix.world().engine.explain({id, *element}, mix.world().at);
      const auto other = again.explain({id, *element}, mix.world().at);
      const bool is_limit = one->reason >= WaitReason::kUserLimit;
      EXPECT_EQ(is_limit, other->reason >= WaitReason::kUserLimit) << one->sentence;
      if (is_limit) {
        EXPECT_EQ(one->sentence, other->sentence);
      }
    }
  }
}

}  // namespace
}  // namespace muster
