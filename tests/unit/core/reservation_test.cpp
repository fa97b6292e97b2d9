// Reservations over random mixes, by seed: by its limit no job ever runs in a window of others, and
// none of a reservation outside its own; and the arithmetic of occurrences.
#include <gtest/gtest.h>

#include "base/types/rng.h"
#include "controller/core/decide/calendar.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

Reservation rule(std::int64_t start_h, std::int64_t hours_long, std::int64_t every_h) {
  Reservation made;
  made.name = "r";
  made.start = WallTime{hours(start_h).us};
  made.duration = hours(hours_long);
  made.every = hours(every_h);
  return made;
}

// By going through the hours.
bool meet_by_hour(const Reservation& a, const Reservation& b) {
  constexpr std::int64_t kHours = 600;
  const auto is_on = [](const Reservation& made, std::int64_t hour) {
    const std::int64_t since = hours(hour).us - made.start.us;
    if (since < 0) return false;
    const std::int64_t into = made.every.us == 0 ? since : since % made.every.us;
    return into < made.duration.us;
  };
  for (std::int64_t hour = 0; hour < kHours; ++hour) {
    if (is_on(a, hour) && is_on(b, hour)) return true;
  }
  return false;
}

TEST(Reservation, OccurrencesAreThoseThatCountingGives) {
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    const auto any = [&] {
      const auto length = static_cast<std::int64_t>(rng.between(1, 5));
      const auto more = static_cast<std::int64_t>(rng.below(8));
      return rule(static_cast<std::int64_t>(rng.below(30)), length,
                  rng.chance(500) ? 0 : length + more);
    };
    const Reservation a = any();
    const Reservation b = any();
    ASSERT_EQ(ever_meet(a, b), meet_by_hour(a, b)) << i;
    ASSERT_EQ(ever_meet(b, a), meet_by_hour(a, b)) << i;
    const WallTime at{hours(static_cast<std::int64_t>(rng.below(60))).us};
    const auto next = occurrence_after(a, at);
    const auto ended = end_before(a, at);
    if (next) {
      ASSERT_GT(next->until, at);
      ASSERT_EQ((next->from.us - a.start.us) % (a.every.us == 0 ? 1 : a.every.us), 0);
    }
    ASSERT_EQ(ended.has_value(), at.us >= a.start.us + a.duration.us);
    if (ended && next) {
      ASSERT_EQ(next->until.us, ended->us + a.every.us);
    }
  }
}

class Mix {
 public:
  explicit Mix(std::uint64_t seed) : rng_(seed), fleet_(world_) {
    ClusterConfig config = World::config();
    config.queues[0].time_max = days(7);
    config.licences = {{"seat", kSeats, false}};
    world_.begin(config);
    nodes_ = rng_.between(2, 6);
    for (std::uint64_t i = 1; i <= nodes_; ++i) {
      const std::string name = std::to_string(i);
      fleet_.add("n" + name, World::inventory(name, 4, 16, 64000));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      once();
      fleet_.settle();
      check();
      check_seats();
      check_words();
    }
    EXPECT_EQ(world_.digest_of_replay(), world_.engine.cluster().digest());
    EXPECT_GT(started_, 0U);
  }
  std::uint64_t started() const { return started_; }
  std::uint64_t words_checked() const { return words_checked_; }
  std::uint64_t windows_checked() const { return windows_checked_; }

 private:
  static constexpr std::uint32_t kSeats = 6;
  std::uint32_t seats(std::uint32_t most) {
    return static_cast<std::uint32_t>(rng_.between(1, most));
  }
  std::string any_name() { return "r" + std::to_string(rng_.between(1, 6)); }

  void once() {
    switch (rng_.below(10)) {
      case 0:
        reserve();
        break;
      case 1:
        if (rng_.chance(300)) fleet_.step(RemoveReservation{World::admin(), any_name()});
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        submit();
        break;
      case 6:
        end_some();
        break;
      default:
        pass_time(minutes(static_cast<std::int64_t>(rng_.between(1, 60))));
    }
  }

  void reserve() {
    ReservationSpec spec;
    for (std::uint64_t i = 1; i <= nodes_; ++i) {
      if (rng_.chance(500)) spec.nodes.push_back("n" + std::to_string(i));
    }
    if (rng_.chance(500)) spec.licences = {{"seat", seats(kSeats)}};
    spec.start =
        WallTime{world_.now().wall.us + minutes(static_cast<std::int64_t>(rng_.below(600))).us};
    spec.duration = minutes(static_cast<std::int64_t>(rng_.between(30, 240)));
    if (rng_.chance(300))
      spec.every = *spec.duration + hours(static_cast<std::int64_t>(rng_.between(1, 20)));
    spec.maintenance = rng_.chance(300);
    if (!spec.maintenance) {
      spec.users = {rng_.chance(500) ? "kim" : "lee"};
      spec.flex = rng_.chance(200);
      spec.stop_at_end = rng_.chance(300);
    }
    fleet_.step(SetReservation{World::admin(), any_name(), rng_.chance(700), spec});
  }

  void submit() {
    NewJob job = World::job(static_cast<std::uint32_t>(rng_.between(1, nodes_)),
                            static_cast<std::uint32_t>(rng_.below(5)));
    job.spec.time_limit = minutes(static_cast<std::int64_t>(rng_.between(5, 600)));
    if (rng_.chance(300)) job.spec.reservation = any_name();
    if (rng_.chance(500)) job.spec.licences = {{"seat", seats(3)}};
    const bool kim = rng_.chance(500);
    fleet_.step(SubmitJobs{kim ? World::user() : World::user("lee", 1001),
                           world_.next_request(kim ? 1000 : 1001),
                           {job},
                           false});
  }

  void end_some() {
    for (auto& [name, worker] : fleet_.workers()) {
      for (const auto& [key, report] : worker.attempts) {
        if (report.phase != AttemptPhase::kRunning || !rng_.chance(300)) continue;
        const Attempt* attempt = world_.engine.cluster().find_attempt(key);
        if (attempt == nullptr) break;
        for (const Member& member : attempt->place->members)
          fleet_.at(world_.engine.cluster().find_node(member.node)->name)
              .end(key, CauseKind::kCompleted);
        break;
      }
    }
  }

  void pass_time(Duration time) {
    for (Duration gone; gone < time; gone = gone + minutes(1)) {
      world_.at = world_.at + minutes(1);
      for (auto& [name, worker] : fleet_.workers()) fleet_.step(WorkerHeard{name});
      keep_limits();
      fleet_.step(Tick{});
      fleet_.settle();
    }
  }

  // As shepherds do.
  void keep_limits() {
    std::vector<AttemptKey> over;
    for (const auto& [key, attempt] : world_.engine.cluster().attempts()) {
      const Duration limit = world_.engine.cluster().find_job(key.job)->facts().time_limit();
      if (attempt.launched && world_.at >= attempt.launched_at + limit) over.push_back(key);
    }
    for (const AttemptKey& key : over) {
      for (auto& [name, worker] : fleet_.workers()) worker.end(key, CauseKind::kTimedOut);
    }
  }

  void check() {
    const Cluster& cluster = world_.engine.cluster();
    const std::int64_t offset = world_.now().wall.us - world_.at.us;
    for (const auto& [key, attempt] : cluster.attempts()) {
      if (known_.insert(key).second) ++started_;
      const JobTerms& terms = *cluster.find_job(key.job)->facts().terms;
      const Instant begun = attempt.launched ? attempt.launched_at : attempt.started_at;
      for (const Member& member : attempt.place->members) {
        const std::string& node = cluster.find_node(member.node)->name;
        for (const auto& [name, made] : cluster.reservations()) {
          if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end()) continue;
          const auto window = occurrence_after(made, WallTime{world_.at.us + offset});
          if (!window || (name == terms.reservation && !made.maintenance)) continue;
          ASSERT_GE(window->from.us - offset, (begun + terms.time_limit).us)
              << "job " << key.job.value << " runs into " << name << " on " << node;
        }
      }
    }
  }

  // Of licences, reservations that are on have what they keep, or their own jobs hold it.
  void check_seats() {
    const Cluster& cluster = world_.engine.cluster();
    std::map<std::string, std::uint64_t> held;  // By reservation.
    std::uint64_t bound = 0;
    for (const auto& [key, attempt] : cluster.attempts()) {
      const JobTerms& terms = *cluster.find_job(key.job)->facts().terms;
      for (const LicenceCount& licence : terms.licences) {
        held[terms.reservation] += licence.count;
        bound += licence.count;
      }
    }
    for (const auto& [name, made] : cluster.reservations()) {
      const auto window = occurrence_after(made, world_.now().wall);
      if (!window || window->from > world_.now().wall || made.licences.empty()) continue;
      const std::uint64_t own = made.maintenance ? 0 : held[name];
      const std::uint64_t kept = made.licences[0].count;
      bound += kept > own ? kept - own : 0;
      ++windows_checked_;
    }
    ASSERT_LE(bound, kSeats);
  }

  // What is said of a limit that would do is true.
  void check_words() {
    for (const auto& [id, job] : world_.engine.cluster().jobs()) {
      if (job.count(ElementState::kPending) == 0) continue;
      const auto why = world_.engine.explain({id, {}}, world_.at);
      ASSERT_TRUE(why);
      std::uint32_t sum = why->nodes_fit;
      for (const Blocker& blocker : why->blockers) sum += blocker.nodes_failing;
      ASSERT_EQ(sum, why->nodes_total) << why->sentence;
      if (why->reason != WaitReason::kReserved || !why->limit_max) continue;
      const std::string shorter = tried(job, *why->limit_max);
      ASSERT_TRUE(shorter.find("would start now") == 0 || shorter == "would wait: kept-for-others")
          << shorter << ": " << why->sentence;
      const std::string longer = tried(job, *why->limit_max + minutes(1));
      ASSERT_EQ(longer.find("would wait"), 0U) << longer << ": " << why->sentence;
      ++words_checked_;
    }
  }

  std::string tried(const Job& job, Duration limit) {
    NewJob same;
    same.spec = job.facts().spec();
    same.spec.time_limit = limit;
    const Requester who = World::user(job.facts().user(), job.facts().uid().value);
    const Outcome out =
        world_.step(SubmitJobs{who, world_.next_request(who.uid.value), {same}, true});
    return out.reply.error ? out.reply.error->message : out.reply.notes.at(0);
  }

  Rng rng_;
  World world_;
  FakeFleet fleet_;
  std::uint64_t nodes_ = 0;
  std::set<AttemptKey> known_;
  std::uint64_t started_ = 0;
  std::uint64_t words_checked_ = 0;
  std::uint64_t windows_checked_ = 0;  // Of reservations that keep licences.
};

TEST(Reservation, NoJobOfOthersRunsInAWindowByItsLimit) {
  std::uint64_t words = 0;
  std::uint64_t windows = 0;
  for (std::uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Mix mix(seed);
    mix.run(100);
    words += mix.words_checked();
    windows += mix.windows_checked();
  }
  EXPECT_GT(words, 20U);
  EXPECT_GT(windows, 20U);
}

}  // namespace
}  // namespace muster
