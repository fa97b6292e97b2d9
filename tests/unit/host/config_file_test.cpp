// The configuration file: what is right is taken, what is wrong is named with its line.
#include "controller/host/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::HasSubstr;

constexpr const char* kGood = R"(cluster = "demo"
state_dir = "/var/lib/muster"
queue_default = "long"
[database]
conninfo = "host=/run/pg dbname=muster"
[[gateway]]
name = "login1"
key = "0123456789012345678901234567890123456789"
admin = true
[[queue]]
name = "short"
time_max = "2h"
nodes = ["n[1-3]"]
[[queue]]
name = "long"
time_default = "1d"
time_max = "7d"
[[account]]
name = "lab"
)";

std::string problem(const std::string& text) {
  const auto config = parse_config(text, "c.toml");
  return config ? "" : config.error().message;
}

TEST(ConfigFile, TakesWhatIsRight) {
  const auto config = parse_config(kGood, "c.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->cluster.cluster, "demo");
  EXPECT_EQ(config->cluster.queues.size(), 2U);
  EXPECT_EQ(config->cluster.queues[0].nodes, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ(config->cluster.queues[1].time_default, days(1));
  EXPECT_EQ(config->cluster.queue_default, "long");
  EXPECT_EQ(config->cluster.account_default, "lab");
  EXPECT_TRUE(config->gateways[0].admin);
}

TEST(ConfigFile, TakesASubmitPolicy) {
  const std::string policy = "[submit_policy]\nprogram = \"/p\"\ntimeout = \"9s\"\n";
  const auto config = parse_config(kGood + policy + "on_failure = \"allow\"\n", "c.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->submit_policy.program, "/p");
  EXPECT_EQ(config->submit_policy.timeout, seconds(9));
  EXPECT_EQ(config->submit_policy.user, "nobody");
  EXPECT_TRUE(config->submit_policy.allow_on_failure);
  for (const char* wrong : {"program = \"p\"", "timeout = \"2m\"", "timeout = \"0s\"",
                            "user = \"root\"", "user = \"\"", "on_failure = \"perhaps\""}) {
    EXPECT_THAT(problem(std::string(kGood) + "[submit_policy]\n" + wrong + "\n"),
                HasSubstr("c.toml:21: submit_policy."))
        << wrong;
  }
}

TEST(ConfigFile, NamesUnknownKeysWithTheNearestRightOne) {
  const std::string text = std::string(kGood) + "[limits]\njobs_maks = 5\n";
  EXPECT_THAT(problem(text),
              HasSubstr("c.toml:21: unknown key 'limits.jobs_maks'; did you mean 'jobs_max'?"));
}

TEST(ConfigFile, NamesWrongTypesWithTheirLine) {
  EXPECT_THAT(problem(std::string(kGood) + "[limits]\njobs_max = \"many\"\n"),
              HasSubstr("c.toml:21: limits.jobs_max:"));
  EXPECT_THAT(problem("cluster = 5\nstate_dir = \"/x\"\n"),
              HasSubstr("c.toml:1: cluster: must be a string"));
  EXPECT_THAT(
      problem("cluster = \"a\"\nstate_dir = \"/x\"\n[[queue]]\nname = \"q\"\ntime_max = 5\n"),
      HasSubstr("c.toml:5: queue.time_max: must be a time in quotes"));
}

TEST(ConfigFile, SaysWhatIsNotToml) {
  EXPECT_THAT(problem("cluster = \n"), HasSubstr("c.toml:1:"));
}

TEST(ConfigFile, RefusesQosThatStopOneAnother) {
  const std::string head =
      "cluster = \"a\"\nstate_dir = \"/x\"\n[[queue]]\nname = \"q\"\ntime_max = \"1h\"\n"
      "[[qos]]\nname = \"low\"\npreempt_after = \"10m\"\n[[qos]]\nname = \"high\"\n";
  const auto read = parse_config(head + "preempts = [\"low\"]\n", "c.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->cluster.qos[1].preempts, std::vector<std::string>{"low"});
  EXPECT_EQ(read->cluster.qos[0].preempt_after, minutes(10));
  EXPECT_THAT(problem(head + "preempts = [\"high\"]\n"),
              HasSubstr("c.toml:11: qos.preempts: a QOS cannot stop jobs of its own"));
  EXPECT_THAT(problem(head + "preempts = [\"lo\"]\n"), HasSubstr("there is no qos lo"));
  EXPECT_THAT(problem(head + "preempts = [\"low\"]\n[[qos]]\nname = \"top\"\n"
                             "preempts = [\"end\", \"high\"]\n[[qos]]\nname = \"end\"\n"
                             "preempts = [\"low\", \"top\"]\n"),
              HasSubstr("c.toml:17: qos.preempts: goes in a circle (end, top, end)"));
}

TEST(ConfigFile, ReadsQuotasByQueue) {
  const std::string head =
      "cluster = \"a\"\nstate_dir = \"/x\"\n[[queue]]\nname = \"d-1\"\ntime_max = \"1h\"\n"
      "[[account]]\nname = \"org\"\n";
  const auto with = [&](const std::string& quota) { return head + "quota = " + quota + "\n"; };
  const auto read = parse_config(with("{ d-1 = { guaranteed = 4, borrow_max = 0 } }"), "c.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->cluster.accounts[0].quotas, (std::vector<QuotaConfig>{{"d-1", 4, 0, {}}}));
  EXPECT_THAT(problem(with("{ d = { guaranteed = 4 } }")), HasSubstr("there is no such queue"));
  EXPECT_THAT(problem(with("{ d-1 = { lend_max = 4 } }")), HasSubstr("is more than guaranteed"));
  EXPECT_THAT(problem(with("{ d-1 = { guaranteed = -4 } }")), HasSubstr("must be a whole number"));
  EXPECT_THAT(problem(with("{ d-1 = { lent = 4 } }")), HasSubstr("unknown key"));
  EXPECT_THAT(problem(with("{ d-1 = 4 }")), HasSubstr("must be a table"));
  EXPECT_THAT(problem(with("4")), HasSubstr("must be a table"));
  const std::string below = "[[account]]\nname = \"sub\"\nparent = \"org\"\n";
  EXPECT_THAT(problem(with("{ d-1 = {} }") + below + "quota = { d-1 = {} }\n"),
              HasSubstr("account sub: quota of queue d-1: account org above it has one, too"));
}

TEST(ConfigFile, RefusesAQueueWithoutAnyTimeLimit) {
  EXPECT_THAT(problem("cluster = \"a\"\nstate_dir = \"/x\"\n[[queue]]\nname = \"q\"\n"),
              HasSubstr("has no time limit"));
}

TEST(ConfigFile, RefusesNamesGivenTwiceAndUnknownReferences) {
  const std::string head = "cluster = \"a\"\nstate_dir = \"/x\"\n";
  const std::string queue = "[[queue]]\nname = \"q\"\ntime_max = \"1h\"\n";
  EXPECT_THAT(problem(head + queue + queue), HasSubstr("c.toml:7: queue.name: 'q' is given twice"));
  EXPECT_THAT(problem(head + "queue_default = \"z\"\n" + queue),
              HasSubstr("no queue is named 'z'"));
  EXPECT_THAT(problem(head + "[listen]\nworkers = \"localhost\"\n"),
              HasSubstr("listen.workers: must be an address"));
}

TEST(ConfigFile, ReportsEveryProblemAtOnce) {
  const std::string text = problem("cluster = \"a b\"\nstate_dir = \"x\"\n");
  EXPECT_THAT(text, HasSubstr("cluster:"));
  EXPECT_THAT(text, HasSubstr("state_dir:"));
}

TEST(ConfigFile, TakesLicencesAndSwitches) {
  const auto config = parse_config(std::string(kGood) + R"([[licence]]
name = "matlab"
total = 4
[[switch]]
name = "leaf1"
nodes = ["n[1-2]"]
[[switch]]
name = "top"
switches = ["leaf1"]
block = true
)",
                                   "c.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->cluster.licences, (std::vector<LicenceConfig>{{"matlab", 4}}));
  EXPECT_EQ(config->cluster.switches, (std::vector<SwitchConfig>{{"leaf1", {"n1", "n2"}, {}, false},
                                                                 {"top", {}, {"leaf1"}, true}}));
}

TEST(ConfigFile, RefusesSwitchesThatAreNoTree) {
  const auto with = [](const std::string& more) { return problem(std::string(kGood) + more); };
  EXPECT_THAT(with("[[switch]]\nname = \"a\"\nswitches = [\"b\"]\n"),
              HasSubstr("switch 'a' names no such switch: 'b'"));
  EXPECT_THAT(with("[[switch]]\nname = \"a\"\n"),
              HasSubstr("switch 'a' needs nodes, or switches, and not both"));
  EXPECT_THAT(with("[[switch]]\nname = \"a\"\nnodes = [\"n1\"]\n"
                   "[[switch]]\nname = \"b\"\nnodes = [\"n1\"]\n"),
              HasSubstr("node 'n1' is on two switches"));
  EXPECT_THAT(with("[[switch]]\nname = \"a\"\nswitches = [\"b\"]\n"
                   "[[switch]]\nname = \"b\"\nswitches = [\"a\"]\n"),
              HasSubstr("switch 'a' is above itself"));
  EXPECT_THAT(with("[[licence]]\nname = \"m\"\ntotal = 1\n[[licence]]\nname = \"m\"\n"),
              HasSubstr("'m' is given twice"));
}

}  // namespace
}  // namespace muster
