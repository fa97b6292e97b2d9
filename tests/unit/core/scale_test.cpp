// Figures of a large cluster. Printed; only the promise on memory is asserted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>

#include "tests/unit/core/world.h"

namespace muster {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

NewJob typical(std::uint64_t number, std::uint32_t shapes) {
  NewJob job =
      World::job(1 + static_cast<std::uint32_t>(number % 2),
                 1 + static_cast<std::uint32_t>(number % 8), "train-" + std::to_string(number));
  job.spec.groups[0].cpus_per_node = 1 + static_cast<std::uint32_t>(number % shapes / 8);
  job.spec.groups[0].gpu_types = {"h100"};
  job.launch = std::string(180, 'l');
  job.script.pack = 1;
  job.environment.pack = 1;
  job.groups = {Gid{1000}, Gid{2000}, Gid{2001}};
  return job;
}

void submit_many(World& world, std::uint64_t jobs, std::uint32_t shapes, std::size_t batch = 1000) {
  for (std::uint64_t done = 0; done < jobs; done += batch) {
    SubmitJobs command{World::user(), world.next_request(), {}, false};
    for (std::size_t i = 0; i < batch; ++i) command.jobs.push_back(typical(done + i, shapes));
    const Outcome out = world.engine.step(command, world.now());
    ASSERT_EQ(out.reply.jobs.size(), batch);
  }
}

void add_nodes(World& world, std::uint32_t nodes, std::uint32_t gpus) {
  for (std::uint32_t i = 1; i <= nodes; ++i) {
    const std::string name = std::to_string(i);
    world.add_node("n" + name, World::inventory(name, gpus));
  }
  world.journal.clear();
}

TEST(Scale, BytesPerPendingJob) {
  constexpr std::uint64_t kJobs = 100000;
  constexpr double kBytesMax = 1024;
  World world;
  world.begin();
  add_nodes(world, 2, 8);
  const std::size_t before = mallinfo2().uordblks;
  submit_many(world, kJobs, 64, 1);  // One request each: the costliest way.
  world.engine.take_changes();
  const double bytes = static_cast<double>(mallinfo2().uordblks - before) / kJobs;
  std::printf("bytes per pending job: %.0f\n", bytes);
  EXPECT_LE(bytes, kBytesMax);
}

TEST(Scale, FullPassOverABusyCluster) {
  World world;
  world.begin();
  add_nodes(world, 10000, 8);
  Stopwatch submit;
  submit_many(world, 100000, 512);
  std::printf("submit: %.0f jobs/s\n", 100000 / submit.seconds());
  Stopwatch pass;
  std::size_t passes = 0;
  do {
    world.pass_wanted = world.engine.step(SchedulePass{}, world.now()).pass_wanted;
    ++passes;
  } while (world.pass_wanted);
  const std::size_t started = world.engine.cluster().attempts().size();
  std::printf("first pass: %.3f s in %zu steps, %zu starts, %.0f starts/s\n", pass.seconds(),
              passes, started, static_cast<double>(started) / pass.seconds());
  // One job ends; the whole line is looked at again.
  world.step(CancelJobs{World::admin(), {{{JobId{1}, {}}}, {false}, {}, {}, {}, false}, 0});
  const Attempt& attempt = world.engine.cluster().attempts().begin()->second;
  const AttemptKey key = attempt.key;
  const std::string node = world.engine.cluster().find_node(attempt.place->members[0].node)->name;
  world.report(node, key, AttemptPhase::kEnded, World::ended(CauseKind::kCancelled));
  Stopwatch again;
  passes = 0;
  do {
    world.pass_wanted = world.engine.step(SchedulePass{}, world.now()).pass_wanted;
    ++passes;
  } while (world.pass_wanted);
  std::printf("pass over what is left: %.3f s in %zu steps\n", again.seconds(), passes);
}

TEST(Scale, GangOverManyNodes) {
  World world;
  world.begin();
  add_nodes(world, 5000, 8);
  const JobId job = world.submitted(World::job(5000, 8));
  Stopwatch time;
  world.pass();
  const AttemptKey key{job, {}, AttemptNo{1}};
  for (std::uint32_t i = 1; i <= 5000; ++i)
    world.report("n" + std::to_string(i), key, AttemptPhase::kPrepared);
  EXPECT_EQ(world.count_effects<SendGo>(), 5000U);
  std::printf("gang of 5000: prepared and launched in %.3f s\n", time.seconds());
  Stopwatch end;
  for (std::uint32_t i = 1; i <= 5000; ++i) {
    world.report("n" + std::to_string(i), key, AttemptPhase::kEnded,
                 World::ended(CauseKind::kCompleted));
  }
  EXPECT_EQ(world.state(job), ElementState::kEnded);
  std::printf("ended in %.3f s\n", end.seconds());
}

// An array's elements, wave by wave.
class Waves {
 public:
  explicit Waves(std::uint32_t nodes) {
    world_.begin();
    add_nodes(world_, nodes, 8);
    NewJob job = World::job(1, 1);
    job.spec.array.ranges = {{0, 999999, 1}};
    id_ = world_.submitted(job);
  }
  void start() {
    bool wanted = true;
    while (wanted) wanted = world_.engine.step(SchedulePass{}, world_.now()).pass_wanted;
    report(AttemptPhase::kPrepared);
    world_.engine.take_changes();
  }
  void end() {
    report(AttemptPhase::kEnded);
    world_.engine.take_changes();
  }
  std::size_t running() const { return world_.engine.cluster().attempts().size(); }

 private:
  void report(AttemptPhase phase) {
    std::vector<std::pair<AttemptKey, std::string>> all;
    const Cluster& cluster = world_.engine.cluster();
    for (const auto& [key, attempt] : cluster.attempts())
      all.emplace_back(key, cluster.find_node(attempt.place->members[0].node)->name);
    for (const auto& [key, node] : all) {
      AttemptReport report{key, phase, cluster.epoch(), {29500}, {}};
      if (phase == AttemptPhase::kEnded) report.record = World::ended(CauseKind::kCompleted);
      world_.engine.step(WorkerReport{node, {report}}, world_.now());
    }
  }

  World world_;
  JobId id_;
};

TEST(Scale, BytesPerElementOfAnArray) {
  constexpr double kEndedMax = 64;
  Waves waves(400);
  for (int wave = 0; wave < 2; ++wave) {
    waves.start();
    waves.end();
  }
  const std::size_t idle = mallinfo2().uordblks;
  waves.start();
  const std::size_t running = waves.running();
  std::printf("bytes per running element: %.0f\n",
              static_cast<double>(mallinfo2().uordblks - idle) / static_cast<double>(running));
  waves.end();
  std::size_t ended = running;
  for (int wave = 0; wave < 5; ++wave) {
    waves.start();
    ended += waves.running();
    waves.end();
  }
  const double bytes =
      static_cast<double>(mallinfo2().uordblks - idle) / static_cast<double>(ended);
  std::printf("bytes per ended element: %.1f\n", bytes);
  EXPECT_LE(bytes, kEndedMax);
}

TEST(Scale, SubmittingAMillionElementsCostsWhatOneJobCosts) {
  World world;
  world.begin();
  add_nodes(world, 2, 8);
  NewJob job = World::job(1, 1);
  job.spec.array.ranges = {{0, 999999, 1}};
  const std::size_t before = mallinfo2().uordblks;
  world.submitted(job);
  EXPECT_LE(mallinfo2().uordblks - before, std::size_t{1} << 20U);
}

TEST(Scale, ArrayOfAMillion) {
  World world;
  ClusterConfig config = World::config();
  world.begin(config);
  add_nodes(world, 100, 8);
  NewJob job = World::job(1, 1);
  job.spec.array.ranges = {{0, 999999, 1}};
  Stopwatch time;
  const JobId id = world.submitted(job);
  world.pass();
  EXPECT_EQ(world.engine.cluster().find_job(id)->count(ElementState::kActive), 800U);
  for (int round = 0; round < 10; ++round) {
    const auto attempts = world.engine.cluster().attempts();
    for (const auto& [key, attempt] : attempts) {
      const std::string node =
          world.engine.cluster().find_node(attempt.place->members[0].node)->name;
      world.report(node, key, AttemptPhase::kPrepared);
      world.report(node, key, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
    }
    world.pass();
  }
  EXPECT_EQ(world.engine.cluster().find_job(id)->count(ElementState::kEnded), 8000U);
  std::printf("array of a million, 8000 elements through: %.3f s\n", time.seconds());
}

}  // namespace
}  // namespace muster
