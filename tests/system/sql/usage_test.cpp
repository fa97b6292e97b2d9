// Usage and cost of many jobs: the charges that the feed wrote against a recount, attempt by
// attempt.
#include "controller/sql/feed.h"
#include "controller/sql/migrate.h"
#include "tests/system/sql/server.h"
#include "tests/system/sql/workload.h"

namespace muster {
namespace {

class UsageTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    psql("alter database " + database_ + " set jit = off");  // As reports do: many small look-ups.
    ASSERT_TRUE(migrate(conninfo()).ok());
  }

  // The feed's, with prices that change while the jobs of the workload run.
  Workload feed_some(std::uint64_t seed, std::uint64_t jobs) {
    psql(
        "insert into muster.prices select 'on-demand', resource, type, "
        "timestamptz '2026-09-21T14:13:20Z' + after, amount from (values "
        "('gpu-hour', 'h100', interval '0.4 s', 3.7), ('gpu-hour', '', interval '0.7 s', "
        "0.123456789),"
        "('gpu-hour', 'a100', interval '1 s', 0), ('cpu-hour', '', interval '0.9 s', 0.031)) "
        "as x (resource, type, after, amount)");
    Workload made = make_workload(seed, jobs);
    Result<Feed> feed = Feed::connect(conninfo(), "test", Epoch{1});
    EXPECT_TRUE(feed.ok());
    EXPECT_TRUE(feed->write(made.records).ok());
    return made;
  }

  // Rows in which the views differ; none is what is wanted.
  std::vector<std::string> differences(const std::string& one, const std::string& other) {
    return psql("(" + one + " except " + other + ") union all (" + other + " except " + one + ")");
  }

  static constexpr char kUsage[] =
      "select cluster, job, attempts, charged_us, gpu_seconds, cpu_seconds, cost, currency "
      "from muster.usage";
  static constexpr char kRecount[] =
      "select cluster, job, count(*), sum(charged_us), sum(gpu_milli_ms) / 1000000 as used, "
      "sum(cpu_ms) / 1000, muster.cost(sum(gpu_amount), sum(cpu_amount)), min(currency) "
      "from muster.attempt_costs group by cluster, job";
  static constexpr char kCharges[] =
      "select cluster, seq, ordinal, line, job, at, gpu_type, gpu_milli_ms, charged_us, cpu_ms "
      "from muster.charges";
  static constexpr char kLines[] =
      "select cluster, seq, ordinal, line, job, at, gpu_type, gpu_milli_ms, charged_us, cpu_ms "
      "from muster.charge_lines";
};

TEST_F(UsageTest, EqualsARecountOfEveryAttempt) {
  const Workload made = feed_some(11, 400);
  EXPECT_EQ(psql_value("select count(*) from muster.usage"), std::to_string(made.jobs));
  EXPECT_EQ(psql_value("select sum(attempts) from muster.usage"), std::to_string(made.attempts));
  EXPECT_EQ(differences(kUsage, kRecount), std::vector<std::string>());
  EXPECT_EQ(differences(kCharges, kLines), std::vector<std::string>());
  // The prices did change under way, and some attempts held two types.
  EXPECT_GT(std::stoi(psql_value("select count(distinct amount) from muster.rates")), 6);
  EXPECT_GT(std::stoi(psql_value("select count(*) from muster.charges where line = 2")), 50);
}

TEST_F(UsageTest, CountsWhatRunsAsItsAttemptDoes) {
  feed_some(12, 20);
  psql(
      "insert into muster.attempts_started select cluster, 100000 + seq, 0, 1, 0, now(), job, 7, "
      "1, 1 "
      "from muster.submissions where job <= 3;"
      "insert into muster.grants select cluster, seq, 0, 0, 5, 1, 500, 0, '' "
      "from muster.attempts_started where element = 7;"
      "insert into muster.attempts_launched select cluster, 200000 + seq, 0, 1, 0, "
      "now() - interval '1000 s', job, 7, 1, '' from muster.attempts_started "
      "where element = 7 and job <= 2");
  EXPECT_EQ(psql_value("select count(*) from muster.usage u join (" + std::string(kRecount) +
                       ") r using (cluster, job) where u.attempts = r.count "
                       "and abs(u.gpu_seconds - r.used) < 60"),
            "20");
  const std::string extra =
      "select floor((sum(gpu_seconds) - (select sum(gpu_milli_ms) / 1000000 from muster.charges "
      "where job in (1, 2, 3))) / 60) from muster.usage where job in (1, 2, 3)";
  EXPECT_EQ(psql_value(extra),
            "16");  // Two halves of a GPU for 1,000 s; the third is not launched.
}

TEST_F(UsageTest, MigrationChargesWhatEndedBefore) {
  feed_some(13, 100);
  const std::vector<std::string> before = psql(std::string(kCharges) + " order by 1, 2, 3, 4");
  EXPECT_GT(before.size(), 100U);
  psql(
      "drop view muster.job_log, muster.usage, muster.rates, muster.charge_lines; drop table "
      "muster.charges;"
      "create view muster.usage as select c.cluster, c.job, count(*) as attempts, "
      "sum(c.charged_us) as charged_us, sum(c.gpu_milli_ms) as gpu_seconds, "
      "sum(c.cpu_ms) as cpu_seconds, 0::numeric as cost, min(c.currency) as currency "
      "from muster.attempt_costs c group by 1, 2;"
      "delete from muster.schema_migrations where version >= 4");
  psql("alter view muster.usage owner to muster_owner");
  const Result<Migrated> again = migrate(conninfo());
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_FALSE(again->applied.empty());
  EXPECT_EQ(again->applied.front(), "0004_charges");
  EXPECT_EQ(psql(std::string(kCharges) + " order by 1, 2, 3, 4"), before);
  EXPECT_EQ(differences(kUsage, kRecount), std::vector<std::string>());
}

}  // namespace
}  // namespace muster
