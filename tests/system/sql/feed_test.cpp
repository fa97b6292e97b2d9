// The feed against a real server: idempotent, fenced, exact, and whole after every kind of
// interruption.
#include "controller/sql/feed.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "controller/sql/accounting.h"
#include "controller/sql/migrate.h"
#include "tests/system/sql/server.h"
#include "tests/system/sql/workload.h"

namespace muster {
namespace {

class FeedTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    const Result<Migrated> done = migrate(conninfo());
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  Feed connect(std::uint64_t epoch = 1) {
    Result<Feed> feed = Feed::connect(conninfo(), "test", Epoch{epoch});
    EXPECT_TRUE(feed.ok()) << feed.error().message;
    return *std::move(feed);
  }

  // Everything that the database does not have yet, in batches.
  static Result<void> catch_up(Feed& feed, const std::vector<Record>& records, std::size_t batch) {
    for (std::size_t at = feed.watermark().value; at < records.size(); at += batch) {
      const std::size_t count = std::min(batch, records.size() - at);
      if (Result<void> written = feed.write(std::span(records).subspan(at, count)); !written)
        return written;
    }
    return {};
  }

  void expect_ok(const Result<void>& result) { EXPECT_TRUE(result.ok()) << result.error().message; }
};

TEST_F(FeedTest, WrittenTwiceGivesTheSameRows) {
  const Workload made = make_workload(1, 100);
  Feed feed = connect();
  EXPECT_EQ(feed.watermark(), Seq{0});
  expect_ok(catch_up(feed, made.records, 64));
  EXPECT_EQ(feed.watermark(), made.records.back().seq);
  const std::string once = dump();
  EXPECT_GT(once.size(), 10000U);
  expect_ok(feed.write(made.records));
  expect_ok(feed.write(std::span(made.records).subspan(17, 5)));
  EXPECT_TRUE(dump() == once) << "rows differ";
  EXPECT_EQ(feed.watermark(), made.records.back().seq);
}

TEST_F(FeedTest, TotalsEqualAnIndependentSum) {
  const Workload made = make_workload(2, 300);
  Feed feed = connect();
  expect_ok(catch_up(feed, made.records, 500));
  EXPECT_EQ(psql_value("select count(*) from muster.submissions"), std::to_string(made.jobs));
  EXPECT_EQ(psql_value("select count(*) from muster.attempts_ended"),
            std::to_string(made.attempts));
  EXPECT_EQ(psql_value("select count(*) from muster.grants"), std::to_string(made.grants));
  EXPECT_EQ(psql_value("select sum(gpu_seconds * 1000000)::numeric(30) from muster.usage"),
            std::to_string(made.gpu_milli_ms));
  EXPECT_EQ(psql_value("select sum(cpu_seconds * 1000)::numeric(30) from muster.usage"),
            std::to_string(made.cpu_ms));
  for (const auto& [job, sum] : made.gpu_milli_ms_of_job) {
    if (job % 37 != 0) continue;
    EXPECT_EQ(
        psql_value("select (gpu_seconds * 1000000)::numeric(30) from muster.usage where job = " +
                   std::to_string(job)),
        std::to_string(sum));
  }
  EXPECT_TRUE(psql("select * from muster.running").empty());
  EXPECT_TRUE(psql("select * from muster.contradictions").empty());
}

TEST_F(FeedTest, KilledMidTransactionLosesAndDoublesNothing) {
  const Workload made = make_workload(3, 400);
  {
    Feed feed = connect();
    expect_ok(catch_up(feed, made.records, 1000));
  }
  const std::string expected = dump();
  PostgresTest::SetUp();
  ASSERT_TRUE(migrate(conninfo()).ok());
  std::uint64_t interrupted = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Result<Feed> feed = Feed::connect(conninfo(), "test", Epoch{1});
      _exit(feed.ok() && catch_up(*feed, made.records, 100).ok() ? 0 : 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + 5 * round));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) ++interrupted;
  }
  EXPECT_GT(interrupted, 5U);
  Feed feed = connect();
  expect_ok(catch_up(feed, made.records, 1000));
  EXPECT_TRUE(dump() == expected) << "rows differ";
}

TEST_F(FeedTest, ServerCrashesAreUnavailableAndHarmless) {
  const Workload made = make_workload(4, 100);
  Feed feed = connect();
  expect_ok(feed.write(std::span(made.records).first(50)));
  stop_server("immediate");
  const Result<void> refused = feed.write(std::span(made.records).subspan(50, 50));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
  const Result<Feed> none = Feed::connect(conninfo(), "test", Epoch{1});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable) << none.error().message;
  start_server();
  Feed next = connect();
  EXPECT_EQ(next.watermark(), Seq{50});
  expect_ok(catch_up(next, made.records, 100));
  EXPECT_EQ(psql_value("select count(*) from muster.attempts_ended"),
            std::to_string(made.attempts));
}

TEST_F(FeedTest, RowsNewerThanTheWatermarkAreTakenAsTheyAre) {
  const Workload made = make_workload(5, 100);
  {
    Feed feed = connect();
    expect_ok(catch_up(feed, made.records, 100));
  }
  const std::string before = dump();
  psql(
      "alter table muster.feed disable trigger all; update muster.feed set seq = 10;"
      "alter table muster.feed enable trigger all");
  Feed feed = connect();
  EXPECT_EQ(feed.watermark(), Seq{10});
  expect_ok(catch_up(feed, made.records, 100));
  EXPECT_TRUE(dump() == before) << "rows differ";
}

TEST_F(FeedTest, RestoredBackupCatchesUp) {
  const Workload made = make_workload(6, 100);
  Feed feed = connect();
  expect_ok(feed.write(std::span(made.records).first(100)));
  const std::string backup = server_directory() + "/backup.sql";
  shell("pg_dump '" + conninfo() + "' > " + backup);
  expect_ok(catch_up(feed, made.records, 100));
  const std::string expected = dump();
  PostgresTest::SetUp();
  shell("psql -Xq -v ON_ERROR_STOP=1 '" + conninfo() + "' -f " + backup + " > /dev/null");
  Feed restored = connect();
  EXPECT_EQ(restored.watermark(), Seq{100});
  expect_ok(catch_up(restored, made.records, 100));
  EXPECT_TRUE(dump() == expected) << "rows differ";
}

TEST_F(FeedTest, StaleEpochIsRefused) {
  const Workload made = make_workload(7, 10);
  Feed old = connect(1);
  expect_ok(old.write(std::span(made.records).first(5)));
  Feed young = connect(2);
  EXPECT_EQ(young.watermark(), Seq{5});
  const Result<void> late = old.write(std::span(made.records).subspan(5, 5));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kConflict);
  EXPECT_NE(late.error().message.find("epoch 1 is over"), std::string::npos)
      << late.error().message;
  EXPECT_EQ(psql_value("select seq || ' ' || epoch from muster.feed"), "5 2");
  EXPECT_EQ(psql_value("select count(*) from muster.nodes_enrolled where seq > 5"), "0");
  EXPECT_FALSE(Feed::connect(conninfo(), "test", Epoch{1}).ok());
  expect_ok(catch_up(young, made.records, 100));
}

TEST_F(FeedTest, MissingRecordsAreRefusedUntilGivenUp) {
  const Workload made = make_workload(8, 10);
  Feed feed = connect();
  expect_ok(feed.write(std::span(made.records).first(5)));
  const Result<void> gap = feed.write(std::span(made.records).subspan(8, 5));
  ASSERT_FALSE(gap.ok());
  EXPECT_NE(gap.error().message.find("records 6 to 8 are missing"), std::string::npos)
      << gap.error().message;
  expect_ok(feed.skip_to(Seq{9}, "journal trimmed; '; drop table"));
  EXPECT_EQ(feed.watermark(), Seq{8});
  expect_ok(feed.write(std::span(made.records).subspan(8, 5)));
  EXPECT_EQ(
      psql_value("select seq_first || ' ' || seq_last || ' ' || reason from muster.feed_gaps"),
      "6 8 journal trimmed; '; drop table");
}

TEST_F(FeedTest, ContradictionFailsWholeBatch) {
  Feed feed = connect();
  expect_ok(feed.write(std::vector{record_of(1, {submission(1, "kim")})}));
  const std::string before = dump();
  const Result<void> again = feed.write(
      std::vector{record_of(2, {submission(2, "kim")}), record_of(3, {submission(1, "lee")})});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kConflict) << again.error().message;
  EXPECT_EQ(again.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(dump() == before) << "rows differ";
  EXPECT_EQ(feed.watermark(), Seq{1});
  expect_ok(feed.write(std::vector{record_of(2, {submission(2, "kim")})}));
}

TEST_F(FeedTest, DeviceHeldTwiceShowsAsAContradiction) {
  AttemptStarted started;
  started.key = {JobId{1}, Element{0}, AttemptNo{1}};
  started.place.members.resize(1);
  started.place.members[0].grants.resize(1);
  Feed feed = connect();
  expect_ok(feed.write(std::vector{record_of(1, {submission(1, "kim"), started})}));
  EXPECT_TRUE(psql("select * from muster.contradictions").empty());
  started.key.attempt = AttemptNo{2};
  expect_ok(feed.write(std::vector{record_of(2, {started})}));
  EXPECT_EQ(psql_value("select attempt || ' ' || what from muster.contradictions"),
            "2 device 0 granted beyond its size");
}

TEST_F(FeedTest, HostileStringsRoundTrip) {
  const std::vector<std::string> texts{"'; DROP SCHEMA muster CASCADE; --",
                                       "\"quoted\" \\back\\slash\\",
                                       "tab\tnew\nline\rreturn\b\f\v",
                                       "\\N",
                                       "\\.",
                                       "",
                                       " ",
                                       "ünï €",
                                       "NULL",
                                       std::string(10000, 'x'),
                                       std::string("nul\0byte", 8),
                                       "bad\xff\xfe"};
  Feed feed = connect();
  std::vector<Record> records;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    JobSubmitted job = submission(i + 1, texts[i]);
    job.spec.name = texts[i];
    ElementsEnded over{job.job, {{0, 0, 1}}, {}};
    over.cause.evidence = texts[i];
    over.cause.by = texts[i];
    records.push_back(record_of(i + 1, {job, over}));
  }
  expect_ok(feed.write(records));
  Result<Accounting> reports = Accounting::connect(conninfo(), "test");
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    AccountingFilter filter;
    filter.jobs = {JobId{i + 1}};
    filter.users = {texts[i]};
    const Result<std::vector<AccountingRow>> rows = reports->query(filter);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows->size(), 1U) << texts[i];
    const AccountingRow& row = rows->front();
    for (const std::string& got : {row.user, row.name, row.evidence, row.by})
      EXPECT_EQ(got, storable_text(texts[i]));
  }
}

TEST_F(FeedTest, NumbersOfAnySizeFromANodeAreTaken) {
  NodeReported report;
  report.inventory.memory_mib = UINT64_MAX;
  report.inventory.cpus = UINT32_MAX;
  report.inventory.gpus.resize(1);
  report.inventory.gpus[0].memory_mib = UINT64_MAX;
  report.device_ids = {DeviceId{UINT32_MAX}};
  MemberEnded end;
  end.key = {JobId{1}, Element{0}, AttemptNo{1}};
  end.record.ran = Duration{INT64_MIN};
  end.record.cpu_us = UINT64_MAX;
  end.record.memory_peak_mib = UINT64_MAX;
  end.record.started_wall = WallTime{INT64_MIN};
  end.record.ended_wall = WallTime{INT64_MAX};
  Feed feed = connect();
  expect_ok(feed.write(std::vector{record_of(1, {report, end})}));
  EXPECT_EQ(psql_value("select cpu_us from muster.member_ends"), "18446744073709551615");
}

TEST_F(FeedTest, RolesMayDoTheirPartOnly) {
  psql(
      "do $$ begin if not exists (select from pg_roles where rolname = 'muster_test_feed') then "
      "create role muster_test_feed login in role muster_feed; "
      "create role muster_test_reports login in role muster_reports; end if; end $$");
  const Workload made = make_workload(9, 20);
  Result<Feed> feed = Feed::connect(conninfo("muster_test_feed"), "test", Epoch{1});
  ASSERT_TRUE(feed.ok()) << feed.error().message;
  expect_ok(catch_up(*feed, made.records, 10));
  Result<Accounting> reports = Accounting::connect(conninfo("muster_test_reports"), "test");
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  const Result<std::vector<AccountingRow>> rows = reports->query({});
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(rows->size(), 20U);
  EXPECT_FALSE(Feed::connect(conninfo("muster_test_reports"), "test", Epoch{9}).ok());
  const std::string refused = shell(
      "for s in 'update muster.attempts_ended set cpu_ms = 0' 'delete from muster.grants' "
      "'truncate muster.members' "
      "'update muster.feed set cluster = 7' 'insert into muster.prices values (1)' 'drop schema "
      "muster cascade'; do "
      "psql -Xq '" +
      conninfo("muster_test_feed") + "' -c \"$s\" 2>&1; done | grep -c -e denied -e owner");
  EXPECT_EQ(refused, "6\n");
}

TEST_F(FeedTest, MissingSchemaSaysWhatToDo) {
  PostgresTest::SetUp();
  const Result<Feed> feed = Feed::connect(conninfo(), "test", Epoch{1});
  ASSERT_FALSE(feed.ok());
  EXPECT_EQ(feed.error().code, ErrorCode::kInvalid);
  EXPECT_NE(feed.error().message.find("gpuadmin db migrate"), std::string::npos)
      << feed.error().message;
}

TEST_F(FeedTest, ClustersDoNotMix) {
  const Workload made = make_workload(10, 10);
  Feed one = connect();
  Result<Feed> two = Feed::connect(conninfo(), "other", Epoch{5});
  ASSERT_TRUE(two.ok());
  expect_ok(catch_up(one, made.records, 100));
  expect_ok(catch_up(*two, made.records, 100));
  EXPECT_EQ(psql_value("select count(distinct cluster) || ' ' || count(*) from muster.submissions"),
            "2 20");
}

// The figure is printed; the floor is far below it, as this may run beside other work and under
// sanitizers.
TEST_F(FeedTest, CatchUpRate) {
  const Workload made = make_workload(11, 5000);
  Feed feed = connect();
  const auto from = std::chrono::steady_clock::now();
  expect_ok(catch_up(feed, made.records, 4000));
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  const std::string rows =
      shell("pg_dump --data-only --inserts --schema muster '" + conninfo() + "' | grep -c ^INSERT");
  const double rate = std::stod(rows) / took;
  std::printf("catch-up: %.0f rows in %.2f s, %.0f rows/s\n", std::stod(rows), took, rate);
  EXPECT_GT(rate, 5000);
}

}  // namespace
}  // namespace muster
