// What a configuration must be, and how the file goes together with what was set at run time.
#include "controller/core/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string problem(const ClusterConfig& config) {
  const auto checked = check_config(config);
  return checked ? "" : checked.error().message;
}

ClusterConfig with_accounts(std::vector<AccountConfig> accounts) {
  ClusterConfig config = World::config();
  config.accounts = std::move(accounts);
  config.account_default = config.accounts.front().name;
  return config;
}

QosConfig qos_named(const std::string& name) {
  QosConfig qos;
  qos.name = name;
  return qos;
}

TEST(ConfigCheck, WantsATreeOfAccounts) {
  EXPECT_EQ(problem(with_accounts({{"b", "a", {}}, {"a", "", {}}})), "");
  EXPECT_THAT(problem(with_accounts({{"a", "x", {}}})), HasSubstr("there is no account x"));
  EXPECT_THAT(problem(with_accounts({{"a", "b", {}}, {"b", "c", {}}, {"c", "a", {}}})),
              HasSubstr("go in a circle"));
  EXPECT_THAT(problem(with_accounts({{"a", "a", {}}})), HasSubstr("go in a circle"));
  EXPECT_THAT(problem(with_accounts({{"a", "", {}}, {"a", "", {}}})), HasSubstr("there twice"));
  EXPECT_THAT(problem(with_accounts({{"a", "", {}, 0}})), HasSubstr("shares: from 1 to"));
  EXPECT_THAT(problem(with_accounts({{"a", "", {}, 1000001}})), HasSubstr("shares: from 1 to"));
  EXPECT_THAT(problem(with_accounts({{"", "", {}}})), HasSubstr("is no name"));
}

TEST(ConfigCheck, WantsAnEndOfEveryJobAndDefaultsThatExist) {
  ClusterConfig config = World::config();
  config.queues[0].time_default = config.queues[0].time_max = {};
  EXPECT_THAT(problem(config), HasSubstr("queue gpu has no time limit"));
  config = World::config();
  config.queue_default = "x";
  EXPECT_THAT(problem(config), HasSubstr("queue_default: there is no queue x"));
  config = World::config();
  config.account_default = "x";
  EXPECT_THAT(problem(config), HasSubstr("account_default: there is no account x"));
  config = World::config();
  config.queues[0].accounts = {"x"};
  EXPECT_THAT(problem(config), HasSubstr("queue gpu: accounts: there is no account x"));
  config = World::config();
  config.qos = {qos_named("gold")};
  config.qos[0].usage_milli = 2000000;
  EXPECT_THAT(problem(config), HasSubstr("qos gold: usage_milli"));
  config = World::config();
  config.priority.age = 2000000;
  EXPECT_THAT(problem(config), HasSubstr("priority: a weight"));
  config = World::config();
  config.users = {{"*", {}}, {"a b", {}}};
  EXPECT_THAT(problem(config), HasSubstr("user: 'a b' is no name"));
}

TEST(ConfigCheck, WarnsOfAShortHalfLife) {
  ClusterConfig config = World::config();
  EXPECT_THAT(config_warnings(config), IsEmpty());
  config.priority.half_life = hours(12);
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("(12h) is below the longest time")));
}

TEST(ConfigCheck, KeepsWhatJobsUse) {
  World world;
  ClusterConfig config = World::config();
  config.qos = {qos_named("gold")};
  world.begin(config);
  world.add_node("n1", World::inventory("1", 8));
  NewJob job = World::job(1, 1);
  job.spec.qos = "gold";
  const JobId id = world.submitted(job);
  const std::uint64_t version = world.engine.cluster().config().version;
  ApplyConfig without{World::admin(), World::config(), ConfigSource::kFile, 0};
  const Outcome refused = world.step(without);
  ASSERT_TRUE(refused.reply.error.has_value());
  EXPECT_EQ(refused.reply.error->message,
            "qos gold cannot be removed: 1 job uses it (1); move or cancel them first");
  EXPECT_EQ(world.engine.cluster().config().version, version);
  without.source = ConfigSource::kStart;  // A start must not fail because of it.
  EXPECT_FALSE(world.step(without).reply.error.has_value());
  EXPECT_EQ(world.engine.cluster().config().qos.size(), 0U);
  EXPECT_NE(world.engine.cluster().find_job(id), nullptr);
}

TEST(ConfigCheck, LeavesToTheFileWhatWasNotSetAtRunTime) {
  ClusterConfig now = World::config();
  now.queues[0].priority = 5;
  now.queues[0].at_run_time = true;
  now.qos = {qos_named("gold")};
  now.qos[0].at_run_time = true;
  now.licences = {{"matlab", 3, true}};
  now.removed = {"queue night", "account gone", "licence cad"};
  ClusterConfig file = World::config();
  file.licences = {{"matlab", 2, false}, {"cad", 1, false}};
  QueueConfig night = file.queues[0];
  night.name = "night";
  file.queues.push_back(night);
  file.accounts[0].shares = 7;
  std::vector<std::string> notes;
  const ClusterConfig joined = join_run_time(now, file, notes);
  ASSERT_EQ(joined.queues.size(), 1U);
  EXPECT_EQ(joined.queues[0].priority, 5);
  EXPECT_EQ(joined.qos.size(), 1U);
  EXPECT_EQ(joined.accounts[0].shares, 7U);
  EXPECT_EQ(joined.licences, now.licences);
  EXPECT_THAT(joined.removed, ElementsAre("queue night", "licence cad"));
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("queue night was removed"), HasSubstr("queue gpu stays"),
                          HasSubstr("licence cad was removed"), HasSubstr("licence matlab stays")));
}

TEST(ConfigCheck, RefusesAChangeOfAnOldConfiguration) {
  World world;
  world.begin();
  ApplyConfig change{World::admin(), World::config(), ConfigSource::kObjects, 0};
  change.config.queues[0].priority = 9;
  EXPECT_THAT(world.step(change).reply.error->message, HasSubstr("changed meanwhile"));
  change.based_on = world.engine.cluster().config().version;
  EXPECT_FALSE(world.step(change).reply.error.has_value());
  EXPECT_EQ(world.engine.cluster().config().queues[0].priority, 9);
  EXPECT_EQ(world.digest_of_replay(), world.engine.cluster().digest());
}

}  // namespace
}  // namespace muster
