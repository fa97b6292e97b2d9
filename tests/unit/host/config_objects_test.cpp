// Objects as settings: changed in the words of the file, shown, and read back from what is shown.
#include "controller/host/config_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/host/config_file.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

ClusterConfig start() {
  ClusterConfig config;
  QueueConfig day;
  day.name = "day";
  day.time_max = hours(12);
  config.queues = {day};
  config.queue_default = "day";
  config.accounts = {{"lab", "", {}}};
  config.account_default = "lab";
  return config;
}

std::string problem(const ObjectChangeBody& change) {
  const auto changed = change_object(start(), change);
  return changed ? "" : changed.error().message;
}

TEST(ConfigObjects, ChangesWhatIsSaidAndLeavesTheRest) {
  ObjectChangeBody change{ObjectVerb::kSet, ObjectKind::kQueue, "day", {}};
  change.settings = {{"time_default", "1h"},        {"nodes", "n[1-2,4],m1"}, {"open", "false"},
                     {"accounts", "lab,other"},     {"priority", "-5"},       {"limits.gpus", "8"},
                     {"user_limits.time_max", "2h"}};
  const auto changed = change_object(start(), change);
  ASSERT_TRUE(changed) << changed.error().message;
  const QueueConfig& queue = changed->queues[0];
  EXPECT_EQ(queue.time_max, hours(12));
  EXPECT_EQ(queue.time_default, hours(1));
  EXPECT_EQ(queue.nodes, (std::vector<std::string>{"n1", "n2", "n4", "m1"}));
  EXPECT_EQ(queue.accounts, (std::vector<std::string>{"lab", "other"}));
  EXPECT_EQ(queue.priority, -5);
  EXPECT_FALSE(queue.open);
  EXPECT_EQ(queue.limits.gpus, 8U);
  EXPECT_EQ(queue.user_limits.time_max, hours(2));
  EXPECT_TRUE(queue.at_run_time);
  ObjectChangeBody again{ObjectVerb::kSet, ObjectKind::kQueue, "day", {{"nodes", ""}}};
  const auto emptied = change_object(*changed, again);
  ASSERT_TRUE(emptied) << emptied.error().message;
  EXPECT_TRUE(emptied->queues[0].nodes.empty());
  EXPECT_EQ(emptied->queues[0].limits.gpus, 8U);
}

TEST(ConfigObjects, RemembersWhatWasRemovedUntilItIsAddedAgain) {
  ObjectChangeBody change{ObjectVerb::kAdd, ObjectKind::kQos, "gold", {{"priority", "10"}}};
  const auto added = change_object(start(), change);
  ASSERT_TRUE(added);
  change = {ObjectVerb::kRemove, ObjectKind::kQos, "gold", {}};
  const auto removed = change_object(*added, change);
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->qos.empty());
  EXPECT_EQ(removed->removed, (std::vector<std::string>{"qos gold"}));
  change.verb = ObjectVerb::kAdd;
  EXPECT_TRUE(change_object(*removed, change)->removed.empty());
}

TEST(ConfigObjects, NamesTheKeyThatIsWrong) {
  using V = ObjectVerb;
  using K = ObjectKind;
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"time_maks", "1h"}}}),
              "unknown key 'time_maks'; did you mean 'time_max'?");
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"limits.gpus", "-1"}}}),
              HasSubstr("limits.gpus: must be a whole number from 0"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"limits.gpus", "1e3"}}}),
              HasSubstr("limits.gpus: must be a whole number"));
  EXPECT_THAT(problem({V::kSet, K::kAccount, "lab", {{"shares", "99999999999999999999"}}}),
              HasSubstr("shares: must be a whole number from 1 to 1000000"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"time_max", "soon"}}}), HasSubstr("time_max"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"name", "night"}}}), HasSubstr("\"name\""));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"x\ny", "1"}}}), HasSubstr("unknown setting"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"priority", "1\npriority = 2"}}}),
              HasSubstr("priority: must be a whole number"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "dai", {{"priority", "1"}}}),
              "there is no queue dai; did you mean day?");
  EXPECT_THAT(problem({V::kAdd, K::kQueue, "day", {}}), HasSubstr("is there already"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {}}), HasSubstr("nothing to change"));
  EXPECT_THAT(problem({V::kSet, K::kQueue, "day", {{"limits", "1"}, {"limits.gpus", "1"}}}),
              HasSubstr("settings: "));
}

TEST(ConfigObjects, TakesQuotasAwayAgain) {
  ClusterConfig config = start();
  const auto set = [&](const std::string& key, const std::string& value) {
    const ObjectChangeBody change{ObjectVerb::kSet, ObjectKind::kAccount, "lab", {{key, value}}};
    const auto changed = change_object(config, change);
    if (changed) config = *changed;
    return changed ? "" : changed.error().message;
  };
  EXPECT_EQ(set("quota.day.guaranteed", "8"), "");
  EXPECT_EQ(set("quota.day.borrow_max", "4"), "");
  EXPECT_EQ(set("quota.day.lend_max", "0"), "");
  EXPECT_EQ(config.accounts[0].quotas, (std::vector<QuotaConfig>{{"day", 8, 4, 0}}));
  EXPECT_EQ(set("quota.day.borrow_max", "none"), "");
  EXPECT_EQ(set("quota.day.lend_max", "none"), "");
  EXPECT_EQ(config.accounts[0].quotas, (std::vector<QuotaConfig>{{"day", 8, {}, {}}}));
  EXPECT_NE(set("quota.day.guaranteed", "none"), "");
  EXPECT_NE(set("quota.day.borrow_max", "nothing"), "");
  EXPECT_EQ(set("quota.day", "none"), "");
  EXPECT_TRUE(config.accounts[0].quotas.empty());
}

// What is shown is what the file would say.
TEST(ConfigObjects, ShowsWhatTheFileWouldSay) {
  ClusterConfig config = start();
  ObjectChangeBody change{ObjectVerb::kSet, ObjectKind::kQueue, "day", {}};
  change.settings = {{"nodes", "n[1-3]"},           {"limits.gpu_minutes", "1000000000000"},
                     {"account_limits.cpus", "64"}, {"retries_max", "0"},
                     {"kill_wait", "90s"},          {"allow_root_jobs", "true"},
                     {"reclaim_grace", "0"}};
  config = *change_object(config, change);
  change = {
      ObjectVerb::kAdd, ObjectKind::kQos, "gold", {{"usage_milli", "0"}, {"accounts", "lab"}}};
  config = *change_object(config, change);
  change = {ObjectVerb::kSet, ObjectKind::kUser, "*", {{"limits.time_max", "1d12h"}}};
  config = *change_object(config, change);
  change = {ObjectVerb::kSet, ObjectKind::kAccount, "lab", {}};
  change.settings = {{"quota.day.guaranteed", "8"}, {"quota.day.lend_max", "0"}};
  config = *change_object(config, change);
  EXPECT_EQ(config.accounts[0].quotas, (std::vector<QuotaConfig>{{"day", 8, {}, 0}}));
  change = {ObjectVerb::kAdd, ObjectKind::kQos, "spare", {{"preempt_after", "90s"}}};
  config = *change_object(config, change);
  change = {ObjectVerb::kSet, ObjectKind::kQos, "gold", {{"preempts", "spare"}}};
  config = *change_object(config, change);
  EXPECT_EQ(config.qos[0].preempts, std::vector<std::string>{"spare"});
  std::string text = "cluster = \"c\"\nstate_dir = \"/x\"\n";
  for (const ObjectRow& row : objects_of(config).rows) {
    text += "[[" + std::string(name_of(row.kind)) + "]]\nname = \"" + row.name + "\"\n";
    for (const ObjectSetting& setting : row.settings)
      text += setting.key + " = " + setting.value + "\n";
  }
  const auto read = parse_config(text, "c.toml");
  ASSERT_TRUE(read) << read.error().message << "\n" << text;
  ClusterConfig expected = config;
  for (auto& queue : expected.queues) queue.at_run_time = false;
  for (auto& qos : expected.qos) qos.at_run_time = false;
  for (auto& user : expected.users) user.at_run_time = false;
  for (auto& account : expected.accounts) account.at_run_time = false;
  EXPECT_EQ(read->cluster.queues, expected.queues);
  EXPECT_EQ(read->cluster.accounts, expected.accounts);
  EXPECT_EQ(read->cluster.qos, expected.qos);
  EXPECT_EQ(read->cluster.users, expected.users);
}

}  // namespace
}  // namespace muster
