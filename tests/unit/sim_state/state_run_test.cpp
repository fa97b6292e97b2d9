// What a dump would start is what the controller that it was taken from starts.
#include "controller/state/state_run.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "controller/config/setting.h"
#include "tests/support/gpusim.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

struct Live {
  World world;
  FakeFleet fleet{world};
  std::string path = testing::TempDir() + "state_run_test.dump";

  explicit Live(std::uint32_t planned_starts = 4) {
    ClusterConfig config = World::config();
    config.queues[0].predict = true;
    config.queues[0].planned_starts = planned_starts;
    world.begin(config);
    for (const char* name : {"n1", "n2", "n3"}) fleet.add(name, World::inventory(name, 4));
    fill();
  }
  ~Live() { std::remove(path.c_str()); }

  // Some run, some have ended, some wait, and room came free that no pass has seen.
  void fill() {
    for (std::uint32_t i = 0; i < 12; ++i) {
      world.submit(World::job(1 + i % 2, 1 + i % 4), World::user("u", 1000 + i % 3));
      world.at = world.at + seconds(7);
      fleet.settle();
    }
    world.at = world.at + minutes(10);
    for (const char* name : {"n1", "n2"}) {
      const auto running = fleet.at(name).attempts;
      for (const auto& [key, report] : running) {
        for (auto& [node, worker] : fleet.workers()) worker.end(key, CauseKind::kCompleted);
      }
      while (fleet.speak(name)) {
      }
    }
    while (fleet.speak("n3")) {
    }
  }
  LoadedSnapshot dumped() {
    const Cluster& cluster = world.engine.cluster();
    world.at = cluster.applied_at();
    EXPECT_TRUE(write_snapshot_file(path, cluster, world.engine.seq_last(), world.now().wall).ok());
    Result<LoadedSnapshot> read = load_snapshot_file(path);
    EXPECT_TRUE(read.ok()) << read.error().message;
    return *std::move(read);
  }
  // Another process reads the journal and takes over.
  void restart() {
    World next;
    for (const Record& record : world.journal) next.engine.replay(record);
    next.journal = world.journal;
    next.at = world.at;
    world = std::move(next);
  }
  // By the passes of the controller itself, when all workers have connected anew.
  std::vector<AttemptStarted> starts() {
    const std::size_t before = world.journal.size();
    world.step(
        BeginEpoch{Epoch{world.engine.cluster().epoch().value + 1}, "c1", "gpusim", "gpusim"});
    for (auto& [name, worker] : fleet.workers()) fleet.hello(name);
    world.pass();
    std::vector<AttemptStarted> starts;
    for (std::size_t i = before; i < world.journal.size(); ++i) {
      for (const Event& event : world.journal[i].events) {
        if (const auto* started = std::get_if<AttemptStarted>(&event)) starts.push_back(*started);
      }
    }
    return starts;
  }
  void expect_same_starts(LoadedSnapshot dump) {
    const Result<StateOutcome> outcome = run_state(std::move(dump));
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    const std::vector<AttemptStarted> mine = starts();
    ASSERT_FALSE(mine.empty());
    ASSERT_EQ(outcome->started.size(), mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(outcome->started[i].key, mine[i].key);
      EXPECT_EQ(digest_of(outcome->started[i].place), digest_of(mine[i].place));
    }
    EXPECT_EQ(outcome->digest, world.engine.cluster().digest());
  }
};

TEST(StateRun, DecidesAsTheControllerDoes) {
  Live live;
  live.fleet.step(RebuildBoard{World::admin()});
  LoadedSnapshot dump = live.dumped();
  EXPECT_EQ(dump.cluster.digest(), live.world.engine.cluster().digest());
  live.expect_same_starts(std::move(dump));
}

// Where starts were planned before is remembered by the process alone, until a dump is asked for.
TEST(StateRun, DecidesAsARestartedControllerDoes) {
  Live live;
  LoadedSnapshot dump = live.dumped();
  live.restart();
  live.expect_same_starts(std::move(dump));
}

TEST(StateRun, ForeseesTheRest) {
  Live live;
  const Result<StateOutcome> outcome = run_state(live.dumped());
  ASSERT_TRUE(outcome.ok());
  ASSERT_FALSE(outcome->later.empty());
  EXPECT_EQ(outcome->waiting, 0U);
  EXPECT_GT(outcome->later.back().in, Duration{});
  EXPECT_GT(outcome->mean_wait_s, 0);
  EXPECT_GT(outcome->utilisation, 0);
}

TEST(StateRun, MoreNodesStartMore) {
  Live live;
  StateChanges changes;
  changes.nodes = {{4, "n1"}};
  const Result<StateOutcome> as_it_is = run_state(live.dumped());
  const Result<StateOutcome> more = run_state(live.dumped(), changes);
  ASSERT_TRUE(as_it_is.ok() && more.ok()) << more.error().message;
  EXPECT_GT(more->started.size(), as_it_is->started.size());
  EXPECT_LT(more->mean_wait_s, as_it_is->mean_wait_s);
}

TEST(StateRun, RefusesChangesOfWhatIsNotThere) {
  Live live;
  EXPECT_FALSE(parse_added_nodes("x").ok());
  EXPECT_FALSE(parse_added_nodes("0xn1").ok());
  EXPECT_FALSE(parse_added_nodes("99999xn1").ok());
  EXPECT_FALSE(run_state(live.dumped(), {{{1, "n9"}}, {}}).ok());
  for (const char* text :
       {"a=1", "queue.gpu.order=best", "queue.none.order=submit", "queue.gpu.name=x",
        "priority.age", "priority.age=-1", "queue.gpu.planned_starts=0x"})
    EXPECT_FALSE(run_state(live.dumped(), {{}, {text}}).ok()) << text;
  EXPECT_TRUE(run_state(live.dumped(), {{}, {"queue.gpu.order=shortest"}}).ok());
}

// A cluster with one job a node, in states that a run has to go on from.
struct Small {
  World world;
  FakeFleet fleet{world};
  std::string path = testing::TempDir() + "state_run_small.dump";

  explicit Small(bool predict = false) {
    ClusterConfig config = World::config();
    config.queues[0].predict = predict;
    world.begin(config);
    fleet.add("n1", World::inventory("n1", 1));
  }
  ~Small() { std::remove(path.c_str()); }
  JobId submit(Duration limit) {
    NewJob job = World::job(1, 1);
    job.spec.time_limit = limit;
    return world.submitted(job);
  }
  StateOutcome run() {
    world.at = world.engine.cluster().applied_at();
    EXPECT_TRUE(
        write_snapshot_file(path, world.engine.cluster(), world.engine.seq_last(), world.now().wall)
            .ok());
    Result<LoadedSnapshot> dump = load_snapshot_file(path);
    EXPECT_TRUE(dump.ok());
    Result<StateOutcome> outcome = run_state(*std::move(dump));
    EXPECT_TRUE(outcome.ok());
    return *std::move(outcome);
  }
};

TEST(StateRun, LeavesOutNodesThatAreNotHeard) {
  Small small;
  small.fleet.lose("n1");
  small.world.tick(minutes(1));
  ASSERT_EQ(small.world.engine.cluster().find_node("n1")->state, NodeState::kSuspect);
  small.submit(hours(1));
  const StateOutcome outcome = small.run();
  EXPECT_TRUE(outcome.started.empty());
  EXPECT_EQ(outcome.waiting, 1U);
}

TEST(StateRun, TakesWhatIsStoppedToEndSoon) {
  Small small;
  const JobId first = small.submit(hours(1));
  small.fleet.settle();
  small.submit(hours(1));
  small.fleet.at("n1").deaf = true;
  JobSelection which;
  which.elements = {{first, {}}};
  which.element_given = {false};
  small.fleet.step(CancelJobs{World::admin(), which, 0});
  const StateOutcome outcome = small.run();
  ASSERT_EQ(outcome.later.size(), 1U);
  EXPECT_LT(outcome.later[0].in, minutes(10));
}

TEST(StateRun, GoesOnWithWhatIsBeingPrepared) {
  Small small;
  small.submit(hours(1));
  small.fleet.step(SchedulePass{});  // Its worker has not answered.
  small.submit(hours(1));
  const StateOutcome outcome = small.run();
  ASSERT_EQ(outcome.later.size(), 1U);
  EXPECT_GE(outcome.later[0].in, hours(1));
  EXPECT_LT(outcome.later[0].in, hours(1) + minutes(10));
}

TEST(StateRun, EndsJobsWhenTheForecastSays) {
  Small small(true);
  for (int i = 0; i < 30; ++i) {
    small.submit(hours(10));
    small.fleet.settle();
    small.world.at = small.world.at + hours(1);
    const auto running = small.fleet.at("n1").attempts;
    for (const auto& [key, report] : running) small.fleet.at("n1").end(key, CauseKind::kCompleted);
    small.fleet.settle();
  }
  small.submit(hours(10));
  small.fleet.settle();
  small.submit(hours(10));
  const StateOutcome outcome = small.run();
  ASSERT_EQ(outcome.later.size(), 1U);
  EXPECT_LT(outcome.later[0].in, hours(3));
}

ClusterConfig with_all_kinds() {
  ClusterConfig config = World::config();
  config.queues.push_back(config.queues[0]);
  config.queues[1].name = "gpu.long";
  config.qos.resize(1);
  config.qos[0].name = "high";
  config.users.resize(1);
  config.users[0].name = "kim";
  config.licences = {{"matlab", 3}};
  config.switches = {{"leaf", {"n1"}, {}, false}};
  config.priority.gpu_types = {{"t4", 100}};
  return config;
}

// Every key of the file that scheduling goes by, in the file's own words.
TEST(SetKey, TakesEveryKindOfKey) {
  ClusterConfig config = with_all_kinds();
  for (const char* text :
       {"queue.gpu.time_max=12h", "queue.gpu.long.limits.nodes=4", "queue.gpu.preempts=gpu.long",
        "queue.gpu.reclaim_grace=0", "account.lab.quota.gpu.guaranteed=8", "account.lab.shares=3",
        "qos.high.usage_milli=2000", "user.kim.limits.gpus=2", "licence.matlab.total=9",
        "switch.leaf.nodes=n[1-3]", "gpu_weight.t4.milli=250", "priority.age=7",
        "priority.half_life=3d", "limits.jobs_max=99", "queue_default=gpu.long"}) {
    const Result<void> set = set_key(config, text);
    EXPECT_TRUE(set.ok()) << text << ": " << set.error().message;
  }
  EXPECT_EQ(config.queues[0].time_max, hours(12));
  EXPECT_EQ(config.queues[0].preempts, std::vector<std::string>{"gpu.long"});
  EXPECT_EQ(config.queues[0].reclaim_grace, Duration{});
  EXPECT_EQ(config.queues[0].limits.nodes, 0U);
  EXPECT_EQ(config.queues[1].limits.nodes, 4U);
  EXPECT_EQ(config.accounts[0].quotas[0].guaranteed, 8U);
  EXPECT_EQ(config.accounts[0].shares, 3U);
  EXPECT_EQ(config.qos[0].usage_milli, 2000U);
  EXPECT_EQ(config.users[0].limits.gpus, 2U);
  EXPECT_EQ(config.licences[0].total, 9U);
  EXPECT_EQ(config.switches[0].nodes.size(), 3U);
  EXPECT_EQ(config.priority.gpu_types[0].milli, 250U);
  EXPECT_EQ(config.priority.age, 7U);
  EXPECT_EQ(config.priority.half_life, days(3));
  EXPECT_EQ(config.limits.jobs_max, 99U);
  EXPECT_EQ(config.queue_default, "gpu.long");
}

TEST(SetKey, SaysInOneLineWhichKeyIsWrong) {
  const auto refused = [](const std::string& text) {
    ClusterConfig config = with_all_kinds();
    const Result<void> set = set_key(config, text);
    return set ? std::string("taken") : set.error().message;
  };
  EXPECT_EQ(refused("queue.gpu.order=best"),
            "'queue.gpu.order=best': order: must be \"submit\", \"shortest\" or \"attained\"");
  EXPECT_EQ(refused("queue.gpu.plannd_starts=2"),
            "'queue.gpu.plannd_starts=2': unknown key 'plannd_starts'; did you mean "
            "'planned_starts'?");
  EXPECT_EQ(refused("queue.day.open=true"), "'queue.day.open=true': there is nothing named day");
  EXPECT_EQ(refused("priority.half_life=1m"),
            "'priority.half_life=1m': half_life: must be at least 1h");
  EXPECT_NE(refused("listen.workers=x").find("is no setting that decides who starts"),
            std::string::npos);
  EXPECT_NE(refused("queue").find("must be KEY=VALUE"), std::string::npos);
  EXPECT_NE(refused("limits.=3").find("unknown setting"), std::string::npos);
  EXPECT_NE(refused("limits.jobs_max=\n").find("must be a whole number"), std::string::npos);
}

// What only the whole shows to be wrong is refused as the controller would, and says which key.
TEST(StateRun, RefusesAConfigurationThatTheControllerWould) {
  Live live;
  const Result<StateOutcome> none = run_state(live.dumped(), {{}, {"queue_default=night"}});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("'queue_default=night': "), std::string::npos)
      << none.error().message;
}

TEST(GpusimState, PrintsWhatStartsAndCompares) {
  Live live;
  live.dumped();
  const GpusimEnded state = gpusim("state " + live.path + " --json");
  EXPECT_EQ(state.status, 0) << state.printed;
  EXPECT_NE(state.printed.find("\"starts_now\":[{\"job\":\""), std::string::npos) << state.printed;
  const GpusimEnded what_if = gpusim("what-if " + live.path + " --add-nodes 4xn1");
  EXPECT_EQ(what_if.status, 0);
  EXPECT_NE(what_if.printed.find("as it is"), std::string::npos) << what_if.printed;
  EXPECT_EQ(gpusim("what-if " + live.path).status, 64);
  EXPECT_EQ(gpusim("state /nonexistent").status, 69);
  std::FILE* file = std::fopen(live.path.c_str(), "w");
  std::fputs("no dump", file);
  std::fclose(file);
  EXPECT_EQ(gpusim("state " + live.path).status, 65);
}

}  // namespace
}  // namespace muster
