// Random clusters, quotas and queues: nobody borrows beyond its cap or what is lent, nobody is
// stopped of what is guaranteed to him or where there is room, and what is owed is given back.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/types/rng.h"
#include "controller/core/decide/limit_book.h"
#include "tests/unit/core/fake_fleet.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

constexpr std::uint32_t kGpusPerNode = 8;
constexpr Duration kGrace = minutes(2);

// As the test counts it, in whole GPUs.
struct Owner {
  std::uint64_t guaranteed = 0;
  std::optional<std::uint64_t> borrow_max;
  std::uint64_t unlent = 0;
  std::uint64_t used = 0;
  std::uint64_t leaving = 0;
  std::uint64_t kept() const { return unlent > used ? unlent - used : 0; }
};

class Lending {
 public:
  explicit Lending(std::uint64_t seed)
      : rng_(seed), fleet_(world_), has_qos_(seed % 3 == 1), is_attained_(seed % 3 == 2) {
    nodes_ = rng_.between(2, 5);
    ClusterConfig config = World::config();
    config.queues[0].reclaim_grace = kGrace;
    config.queues[0].planned_starts = static_cast<std::uint32_t>(rng_.below(4));
    config.qos = {QosConfig{}, QosConfig{}};
    config.qos[0].name = "spare";
    config.qos[1].name = "high";
    config.qos[1].preempts = {"spare"};
    if (is_attained_) {
      config.queues[0].order = QueueOrder::kAttained;
      ++config.queues[0].planned_starts;
    }
    QueueConfig other = config.queues[0];
    other.name = "other";
    other.nodes = {"x1"};
    config.queues.push_back(other);
    config.accounts = {{"org", "", {}}, {"vision", "org", {}}, {"lab", "", {}}, {"free", "", {}}};
    config.account_default = "lab";
    give(config.accounts[0]);
    give(config.accounts[2]);
    config.queues[0].nodes = {"n1", "n2", "n3", "n4", "n5"};
    world_.begin(config);
    for (std::uint64_t i = 1; i <= nodes_; ++i) add("n" + std::to_string(i));
    add("x1");
  }

  void run() {
    for (int i = 0; i < 150; ++i) {
      for (std::uint64_t jobs = rng_.below(4); jobs > 0; --jobs) submit();
      pass_time(seconds(static_cast<std::int64_t>(rng_.between(10, 200))));
      for (std::uint64_t ends = rng_.below(4); ends > 0; --ends) end_one();
      settle();
      check_owed();
      if (testing::Test::HasFailure()) return;
    }
  }
  std::size_t stopped() const { return stopped_; }
  std::size_t borrowed() const { return borrowed_; }
  std::size_t alone() const { return alone_; }
  std::size_t by_rule() const { return by_rule_; }

 private:
  void give(AccountConfig& account) {
    QuotaConfig quota{
        "gpu", static_cast<std::uint32_t>(rng_.below(nodes_ * kGpusPerNode / 2)), {}, {}};
    if (rng_.chance(500)) quota.borrow_max = static_cast<std::uint32_t>(rng_.below(20));
    if (rng_.chance(500))
      quota.lend_max = static_cast<std::uint32_t>(rng_.below(quota.guaranteed + 1));
    account.quotas = {quota};
    Owner& owner = owners_[account.name];
    owner.guaranteed = quota.guaranteed;
    if (quota.borrow_max) owner.borrow_max = *quota.borrow_max;
    if (quota.lend_max) owner.unlent = quota.guaranteed - *quota.lend_max;
  }

  void add(const std::string& name) {
    fleet_.add(name, World::inventory(name, kGpusPerNode, 640, 640000));
    if (name != "x1") free_[world_.engine.cluster().find_node(name)->id] = kGpusPerNode;
    settle();
  }

  void submit() {
    const bool wide = rng_.chance(200);
    NewJob job = World::job(static_cast<std::uint32_t>(wide ? rng_.between(1, nodes_) : 1),
                            static_cast<std::uint32_t>(wide ? 8 : rng_.between(1, 8)));
    const char* const accounts[] = {"org", "vision", "lab", "free"};
    job.spec.account = accounts[rng_.below(4)];
    job.spec.queue = rng_.chance(900) ? "gpu" : "other";
    if (has_qos_ && rng_.chance(600)) job.spec.qos = rng_.chance(500) ? "high" : "spare";
    job.spec.groups[0].memory_mib_per_node = 1000;
    job.spec.time_limit = hours(static_cast<std::int64_t>(rng_.between(1, 10)));
    world_.submit(job);  // A quota may never allow it.
    settle();
  }

  void pass_time(Duration time) {
    world_.at = world_.at + time;
    for (const auto& [name, worker] : fleet_.workers()) fleet_.step(WorkerHeard{name});
    fleet_.step(Tick{});
    settle();
  }

  void settle() {
    fleet_.settle();
    for (; looked_at_ < world_.journal.size(); ++looked_at_) {
      const Record& record = world_.journal[looked_at_];
      for (const Event& event : record.events) {
        if (const auto* started = std::get_if<AttemptStarted>(&event)) note_start(*started);
        if (const auto* stopping = std::get_if<AttemptStopping>(&event))
          note_stop(*stopping, record.at);
        if (const auto* ended = std::get_if<AttemptEnded>(&event)) note_end(ended->key);
      }
    }
  }

  void end_one() {
    std::vector<AttemptKey> running;
    for (const auto& [key, attempt] : world_.engine.cluster().attempts()) running.push_back(key);
    if (running.empty()) return;
    const AttemptKey key = running[rng_.below(running.size())];
    for (auto& [name, worker] : fleet_.workers()) worker.end(key, CauseKind::kCompleted);
  }

  const JobFacts& facts_of(JobId id) const { return world_.engine.cluster().find_job(id)->facts(); }
  Owner& owner_of(JobId id) {
    const std::string account = facts_of(id).account();
    return owners_[account == "vision" ? "org" : account];
  }
  std::uint64_t asked_by(JobId id) const {
    return holding_of(*facts_of(id).terms).gpus_milli / kMilliPerGpu;
  }

  void note_start(const AttemptStarted& event) {
    running_.insert(event.key.job);
    if (facts_of(event.key.job).queue() != "gpu") return;
    const std::uint64_t gpus = asked_by(event.key.job);
    Owner& owner = owner_of(event.key.job);
    std::uint64_t used = gpus;
    std::uint64_t kept = 0;
    for (const auto& [name, one] : owners_) {
      used += one.used;
      if (&one != &owner) kept += one.kept();
    }
    owner.used += gpus;
    for (const Member& member : event.place.members) {
      EXPECT_GE(free_[member.node], member.grants.size());
      free_[member.node] -= member.grants.size();
    }
    places_[event.key] = event.place;
    if (owner.used <= owner.guaranteed) return;
    ++borrowed_;
    if (owner.borrow_max) {
      EXPECT_LE(owner.used, owner.guaranteed + *owner.borrow_max);
    }
    if (kept != 0) {
      EXPECT_LE(used + kept, nodes_ * kGpusPerNode) << "borrowed what is not lent";
    }
  }

  void note_stop(const AttemptStopping& event, Instant at) {
    if (facts_of(event.key.job).queue() != "gpu") return;
    Owner& victim = owner_of(event.key.job);
    victim.leaving += asked_by(event.key.job);
    leaving_.insert(event.key);
    if (event.cause.kind != CauseKind::kPreempted) return;
    ++stopped_;
    const JobId id{std::stoull(event.cause.by.substr(4))};
    EXPECT_EQ(facts_of(id).queue(), "gpu");
    preemptors_.insert(id);
    const Owner& owner = owner_of(id);
    const bool is_owed = owner.used + asked_by(id) <= owner.guaranteed;
    const bool is_by_qos =
        facts_of(id).qos() == "high" && facts_of(event.key.job).qos() == "spare" && !is_attained_;
    const bool is_by_rule = is_by_qos || is_attained_;
    if (!is_by_rule || (&owner != &victim && !is_owed)) {
      EXPECT_GE(victim.used - victim.leaving, victim.guaranteed) << "stopped what is guaranteed";
    }
    by_rule_ += is_by_rule && !is_owed ? 1U : 0U;
    if (is_by_rule) return;
    EXPECT_TRUE(is_owed);
    EXPECT_GE(at - facts_of(id).submitted_at, kGrace);
    if (first_of_ == std::pair(id, at)) return;
    first_of_ = {id, at};
    if (is_kept_for_others(id)) return;
    ++alone_;
    EXPECT_FALSE(fits_in_idle(id)) << "stopped where there was room";
  }

  bool fits_in_idle(JobId id) const {
    const Group& group = facts_of(id).terms->groups[0];
    std::uint32_t fit = 0;
    for (const auto& [node, gpus] : free_) fit += gpus >= group.gpus_per_node ? 1 : 0;
    return fit >= group.nodes_min;
  }
  // Another job within a quota, or one for which others were stopped before, may have its start
  // planned in that room.
  bool is_kept_for_others(JobId id) {
    for (const auto& [other, job] : world_.engine.cluster().jobs()) {
      if (other == id || job.facts().queue() != "gpu" || job.is_ended()) continue;
      const Owner& owner = owner_of(other);
      if (running_.count(other) == 0 &&
          (owner.used + asked_by(other) <= owner.guaranteed || preemptors_.count(other) != 0))
        return true;
    }
    return false;
  }

  void note_end(const AttemptKey& key) {
    running_.erase(key.job);
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    Owner& owner = owner_of(key.job);
    owner.used -= asked_by(key.job);
    if (leaving_.erase(key) != 0) owner.leaving -= asked_by(key.job);
    for (const Member& member : place->second.members) free_[member.node] += member.grants.size();
    places_.erase(place);
  }

  // A job of one GPU within a quota waits no longer than the grace and a round where somebody's
  // attempt of one GPU is borrowed.
  void check_owed() {
    for (const auto& [id, job] : world_.engine.cluster().jobs()) {
      if (job.facts().queue() != "gpu" || job.state_of({}) != ElementState::kPending) continue;
      const Owner& owner = owner_of(id);
      if (asked_by(id) != 1 || owner.used + 1 > owner.guaranteed) continue;
      owed_since_.emplace(id, world_.at);
      if (world_.at - owed_since_[id] < kGrace + minutes(5)) continue;
      EXPECT_FALSE(has_small_borrower()) << "job " << id.value << " waits for what is its own";
    }
    for (auto it = owed_since_.begin(); it != owed_since_.end();) {
      const Job* job = world_.engine.cluster().find_job(it->first);
      const bool waits = job != nullptr && job->state_of({}) == ElementState::kPending &&
                         owner_of(it->first).used < owner_of(it->first).guaranteed;
      it = waits ? std::next(it) : owed_since_.erase(it);
    }
  }
  bool has_small_borrower() {
    for (const auto& [key, place] : places_) {
      const Owner& owner = owner_of(key.job);
      if (leaving_.count(key) == 0 && asked_by(key.job) == 1 &&
          owner.used - owner.leaving > owner.guaranteed)
        return true;
    }
    return false;
  }

  Rng rng_;
  World world_;
  FakeFleet fleet_;
  std::uint64_t nodes_ = 0;
  std::map<std::string, Owner> owners_;
  std::map<NodeId, std::uint64_t> free_;  // GPUs of the queue's nodes.
  std::map<AttemptKey, Place> places_;    // Of what runs in it.
  std::set<AttemptKey> leaving_;
  std::set<JobId> running_;
  std::set<JobId> preemptors_;
  std::map<JobId, Instant> owed_since_;
  std::pair<JobId, Instant> first_of_;
  std::size_t looked_at_ = 0;
  std::size_t stopped_ = 0;
  std::size_t borrowed_ = 0;
  bool has_qos_ = false;
  bool is_attained_ = false;
  std::size_t by_rule_ = 0;  // Stopped for jobs outside of a guarantee.
  std::size_t alone_ = 0;    // Stopped for a job that no other one within a quota stood beside.
};

TEST(Quota, LendsWhatIsIdleAndGivesBackWhatIsOwed) {
  std::size_t stopped = 0;
  std::size_t borrowed = 0;
  std::size_t alone = 0;
  std::size_t by_rule = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lending lending(seed);
    lending.run();
    stopped += lending.stopped();
    borrowed += lending.borrowed();
    alone += lending.alone();
    by_rule += lending.by_rule();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(stopped, 100U);
  EXPECT_GT(borrowed, 1000U);
  EXPECT_GT(alone, 20U);
  EXPECT_GT(by_rule, 50U);
}

}  // namespace
}  // namespace muster
