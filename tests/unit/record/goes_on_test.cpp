// A controller that goes on decides as what is loaded from its dump, and as what is replayed from
// its journal, by seed: same commands, same starts at the same places, same stops.
#include <gtest/gtest.h>

#include <memory>

#include "base/types/rng.h"
#include "controller/record/event_codec.h"
#include "controller/record/snapshot_codec.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

constexpr int kNodes = 6;

std::string node_name(std::uint64_t i) { return "n" + std::to_string(i); }

// A controller with workers of its own.
struct Side {
  std::unique_ptr<World> world = std::make_unique<World>();
  std::unique_ptr<FakeFleet> fleet = std::make_unique<FakeFleet>(*world);
  std::size_t from = 0;  // Of the journal: where what is compared begins.

  const Cluster& cluster() const { return world->engine.cluster(); }

  // As after a start in the place of another.
  void take_over(const Side& other) {
    world->at = other.world->at;
    world->wall_step = other.world->wall_step;
    world->skip_requests(other.world->requests());
    fleet->workers() = other.fleet->workers();
    fleet->step(BeginEpoch{Epoch{cluster().epoch().value + 1}, "c1", "boot-2", "0.1.0"});
  }

  // All workers connect anew, and say what there is to say: who hears what first is not compared.
  void greet() {
    for (std::uint64_t i = 1; i <= kNodes; ++i) fleet->hello(node_name(i));
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint64_t i = 1; i <= kNodes; ++i) moved = fleet->speak(node_name(i)) || moved;
    }
    world->pass_wanted = true;
    from = world->journal.size();
  }

  // What was decided, in words.
  std::string decided() const {
    std::string text;
    for (std::size_t i = from; i < world->journal.size(); ++i) {
      for (const Event& event : world->journal[i].events) {
        if (const auto* started = std::get_if<AttemptStarted>(&event)) {
          text +=
              std::to_string(world->journal[i].at.us) + " " + to_text(started->key) + " starts on";
          for (const Member& member : started->place.members) {
            text += " n" + std::to_string(member.node.value) + ":";
            for (const Grant& grant : member.grants)
              text += std::to_string(grant.device.value) + "/" + std::to_string(grant.milli) + ",";
          }
          text += "\n";
        }
        if (const auto* stopping = std::get_if<AttemptStopping>(&event))
          text +=
              std::to_string(world->journal[i].at.us) + " " + to_text(stopping->key) + " stops\n";
      }
    }
    return text;
  }
};

ClusterConfig busy_config() {
  ClusterConfig config = World::config();
  QueueConfig day = config.queues[0];
  QueueConfig urgent = day;
  urgent.name = "urgent";
  urgent.priority = 10;
  urgent.preempts = {"spot"};
  QueueConfig spot = day;
  spot.name = "spot";
  spot.priority = -5;
  spot.kill_wait = minutes(2);
  QueueConfig fair = day;
  fair.name = "fair";
  fair.order = QueueOrder::kAttained;
  fair.priority = -10;
  day.order = QueueOrder::kShortest;
  day.predict = true;
  day.user_limits.gpus = 12;
  config.queues = {day, urgent, spot, fair};
  config.accounts.push_back({"org", "", {}});
  config.accounts[0].quotas = {{"spot", 8, {}, {}}};
  config.accounts[1].quotas = {{"spot", 8, {}, {}}};
  config.priority.fair_share = 1000;
  config.priority.age = 200;
  config.limits.forget_after = minutes(2);
  config.limits.prepare_timeout = days(1);
  config.limits.suspect_after = days(1);
  return config;
}

// Commands drawn from what there is: where decisions are the same, the same ones.
class Load {
 public:
  Load(Side& side, std::uint64_t seed) : side_(side), rng_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) once();
  }

 private:
  void submit() {
    NewJob job = World::job(static_cast<std::uint32_t>(rng_.between(1, 4)),
                            static_cast<std::uint32_t>(rng_.between(1, 4)));
    const char* const queues[] = {"gpu", "gpu", "urgent", "spot", "spot", "fair"};
    job.spec.queue = queues[rng_.below(6)];
    job.spec.account = rng_.chance(500) ? "lab" : "org";
    job.spec.name = "j" + std::to_string(rng_.below(3));
    job.spec.time_limit = minutes(static_cast<std::int64_t>(rng_.between(5, 600)));
    job.spec.groups[0].cpus_per_node = static_cast<std::uint32_t>(rng_.between(1, 16));
    if (job.spec.groups[0].gpus_per_node == 1 && rng_.chance(300))
      job.spec.groups[0].gpu_milli = 500;
    if (rng_.chance(150)) job.spec.array.ranges = {{0, 4, 1}};
    const auto user = static_cast<std::uint32_t>(rng_.below(4));
    side_.fleet->step(SubmitJobs{World::user("u" + std::to_string(user), 1000 + user),
                                 side_.world->next_request(1000 + user),
                                 {job},
                                 false});
  }

  JobSelection any_job() {
    JobSelection which;
    const std::uint64_t last = side_.cluster().job_next().value;
    which.elements = {
        {JobId{rng_.between(1, last)}, Element{static_cast<std::uint32_t>(rng_.below(4))}}};
    which.element_given = {rng_.chance(300)};
    return which;
  }

  void person() {
    switch (rng_.below(4)) {
      case 0:
        side_.fleet->step(HoldJobs{World::admin(), any_job()});
        break;
      case 1:
        side_.fleet->step(ReleaseJobs{World::admin(), {{}, {}, {}, {"u1"}, {}, false}});
        break;
      case 2:
        side_.fleet->step(CancelJobs{World::admin(), any_job(), 0});
        break;
      default: {
        ClusterConfig config = side_.cluster().config();
        config.queues[0].user_limits.gpus = static_cast<std::uint32_t>(rng_.between(4, 16));
        side_.fleet->step(ApplyConfig{World::admin(), config});
      }
    }
  }

  void task_ends() {
    FakeWorker& worker = side_.fleet->at(node_name(rng_.between(1, kNodes)));
    const auto attempts = worker.attempts;
    for (const auto& [key, report] : attempts) {
      if (report.phase != AttemptPhase::kRunning || rng_.chance(300)) continue;
      for (auto& [name, each] : side_.fleet->workers()) each.end(key, CauseKind::kCompleted);
    }
  }

  void pass_time() {
    side_.world->at =
        side_.world->at + milliseconds(static_cast<std::int64_t>(rng_.between(1, 40000)));
    // The wall clock is not quite the engine's.
    side_.world->wall_step = milliseconds(static_cast<std::int64_t>(rng_.below(450)));
    side_.fleet->step(FeedReached{side_.world->engine.seq_last()});
    side_.fleet->step(Tick{});
  }

  void once() {
    const std::uint64_t dice = rng_.below(100);
    if (dice < 12)
      submit();
    else if (dice < 45)
      side_.fleet->step(SchedulePass{{static_cast<std::uint32_t>(rng_.between(1, 3)), 4}});
    else if (dice < 70)
      side_.fleet->speak(node_name(rng_.between(1, kNodes)));
    else if (dice < 82)
      task_ends();
    else if (dice < 86)
      person();
    else if (dice < 97)
      pass_time();
    else
      side_.fleet->settle();
  }

  Side& side_;
  Rng rng_;
};

Result<Cluster> through_bytes(const Cluster& cluster) {
  std::string payload;
  const auto encoded = encode_cluster(cluster, WallTime{7}, [&](std::string_view piece) {
    payload += piece;
    return Result<void>();
  });
  EXPECT_TRUE(encoded.ok());
  ClusterDecoder decoder;
  if (const Result<void> added = decoder.add(payload); !added) return added.error();
  return decoder.finish(cluster.digest());
}

class GoesOn : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(GoesOn, AsItsDumpAndItsJournal) {
  Side mine;
  mine.world->begin(busy_config());
  for (std::uint64_t i = 1; i <= kNodes; ++i)
    mine.fleet->add(node_name(i), World::inventory(std::to_string(i), 4));
  ReservationSpec course;
  course.nodes = {"n1", "n2"};
  course.start = WallTime{mine.world->now().wall.us + minutes(20).us};
  course.duration = minutes(10);
  course.every = hours(1);
  course.accounts = {"org"};
  mine.fleet->step(SetReservation{World::admin(), "course", true, course});
  Rng rng(GetParam());
  std::size_t decided = 0;
  for (int dump = 0; dump < 6; ++dump) {
    Load load(mine, rng.next());
    load.run(static_cast<int>(rng.between(20, 200)));
    mine.fleet->step(RebuildBoard{World::admin()});

    Side dumped;
    Result<Cluster> cluster = through_bytes(mine.cluster());
    ASSERT_TRUE(cluster.ok()) << cluster.error().message;
    dumped.world->engine.load(*std::move(cluster), mine.world->engine.seq_last());
    dumped.take_over(mine);
    Side replayed;
    for (const Record& record : mine.world->journal) {
      const Result<Record> again = decode_record(encode_record(record));
      ASSERT_TRUE(again.ok()) << again.error().message;
      replayed.world->engine.replay(*again);
    }
    replayed.take_over(mine);

    const std::uint64_t seed = rng.next();
    for (Side* side : {&mine, &dumped, &replayed}) {
      side->greet();
      Load(*side, seed).run(150);
    }
    ASSERT_EQ(dumped.decided(), mine.decided()) << "dump " << dump;
    ASSERT_EQ(replayed.decided(), mine.decided()) << "dump " << dump;
    decided += mine.decided().size();
  }
  EXPECT_GT(decided, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GoesOn, ::testing::Range<std::uint64_t>(0, 20));

}  // namespace
}  // namespace muster
