// gpuacct's rows: states, sums, exact money, filters.
#include "controller/sql/accounting.h"

#include <fstream>

#include "controller/sim/replay/trace_file.h"
#include "controller/sql/feed.h"
#include "controller/sql/migrate.h"
#include "tests/system/sql/server.h"
#include "tests/system/sql/workload.h"

namespace muster {
namespace {

class AccountingTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    ASSERT_TRUE(migrate(conninfo()).ok());
    feed_.emplace(*Feed::connect(conninfo(), "test", Epoch{1}));
    reports_.emplace(*Accounting::connect(conninfo(), "test"));
    NodeReported report;
    report.node = NodeId{1};
    for (std::uint32_t i = 0; i < 4; ++i) {
      GpuFacts gpu;
      gpu.uuid = "GPU-" + std::to_string(i);
      gpu.type = i < 2 ? "h100" : "odd";
      report.inventory.gpus.push_back(gpu);
      report.device_ids.push_back(DeviceId{i});
    }
    write({NodeEnrolled{NodeId{1}, "n1", "k", "root"}, report});
  }

  void write(std::vector<Event> events) {
    const Result<void> done = feed_->write(std::vector{record_of(++seq_, std::move(events))});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  static AttemptStarted start(const AttemptKey& key, std::vector<std::uint32_t> devices,
                              std::uint32_t cpus) {
    AttemptStarted event{key, {}};
    event.place.members.resize(1);
    event.place.members[0].node = NodeId{1};
    event.place.members[0].cpus = cpus;
    for (const std::uint32_t device : devices)
      event.place.members[0].grants.push_back(Grant{DeviceId{device}, kMilliPerGpu, 0, ""});
    return event;
  }

  static AttemptEnded end(const AttemptKey& key, CauseKind kind, std::uint64_t ms,
                          std::uint64_t gpus, std::uint64_t cpus) {
    AttemptEnded event;
    event.key = key;
    event.cause.kind = kind;
    event.charged = milliseconds(static_cast<std::int64_t>(ms));
    event.gpu_milli_ms = ms * gpus * 1000;
    event.cpu_ms = ms * cpus;
    return event;
  }

  std::vector<AccountingRow> query(const AccountingFilter& filter = {}) {
    Result<std::vector<AccountingRow>> rows = reports_->query(filter);
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    return rows.ok() ? *rows : std::vector<AccountingRow>();
  }

  std::uint64_t seq_ = 0;
  std::optional<Feed> feed_;
  std::optional<Accounting> reports_;
};

constexpr AttemptKey key_of(std::uint64_t job, std::uint32_t attempt, std::uint32_t element = 0) {
  return {JobId{job}, Element{element}, AttemptNo{attempt}};
}

TEST_F(AccountingTest, PendingJobHasARow) {
  write({submission(1, "kim")});
  const std::vector<AccountingRow> rows = query();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, "pending");
  EXPECT_EQ(rows[0].user, "kim");
  EXPECT_EQ(rows[0].attempts, 0U);
  EXPECT_EQ(rows[0].cost, "0");
  EXPECT_EQ(rows[0].gpu_seconds, "0");
  EXPECT_EQ(rows[0].started, WallTime{});
  EXPECT_EQ(to_rfc3339(rows[0].submitted), "2026-09-21T14:13:20Z");
}

TEST_F(AccountingTest, SumsAttemptsAndPricesThemExactly) {
  write({submission(1, "kim")});
  write({start(key_of(1, 1), {0, 1}, 8)});
  write({AttemptLaunched{key_of(1, 1), "", {}}});
  write({end(key_of(1, 1), CauseKind::kNodeFailed, 1800000, 2, 8),
         ElementRequeued{JobId{1}, Element{0}, {}, {}, false, ""}});
  write({start(key_of(1, 2), {1, 2}, 8)});
  write({AttemptLaunched{key_of(1, 2), "", {}}});
  write({end(key_of(1, 2), CauseKind::kCompleted, 3600000, 2, 8),
         ElementsEnded{JobId{1}, {{0, 0, 1}}, {}}});
  const std::vector<AccountingRow> rows = query();
  ASSERT_EQ(rows.size(), 1U);
  const AccountingRow& row = rows[0];
  EXPECT_EQ(row.state, "ended");
  EXPECT_EQ(row.cause, "completed");
  EXPECT_EQ(row.attempts, 2U);
  EXPECT_EQ(row.elapsed, seconds(5400));
  EXPECT_EQ(row.gpu_seconds, "10800");
  EXPECT_EQ(row.cpu_seconds, "43200");
  // 1 h of h100 at 3.00, then 1 h of h100 and 1 h of a type without its own price (2.00); 12
  // CPU-hours at 0.02.
  EXPECT_EQ(row.cost, "8.24");
  EXPECT_EQ(row.currency, "EUR");
  EXPECT_EQ(row.nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(row.gpu_types, (std::vector<std::string>{"h100", "odd"}));
  EXPECT_EQ(row.gpus, 2U);
}

TEST_F(AccountingTest, TheJobLogIsATraceForTheSimulator) {
  write({submission(1, "kim"), submission(2, "lee"), submission(3, "lee")});
  write({start(key_of(1, 1), {0, 1}, 8), start(key_of(2, 1), {2}, 1), start(key_of(3, 1), {3}, 1)});
  write({AttemptLaunched{key_of(1, 1), "", {}}, AttemptLaunched{key_of(2, 1), "", {}}});
  write({end(key_of(1, 1), CauseKind::kNodeFailed, 1500, 2, 8),
         ElementRequeued{JobId{1}, Element{0}, {}, {}, false, ""}});
  write({start(key_of(1, 2), {0, 1}, 8), AttemptLaunched{key_of(1, 2), "", {}}});
  write({end(key_of(1, 2), CauseKind::kCompleted, 3000, 2, 8),
         ElementsEnded{JobId{1}, {{0, 0, 1}}, {}}});
  write({end(key_of(3, 1), CauseKind::kCancelled, 0, 1, 1),
         ElementsEnded{JobId{3}, {{0, 0, 1}}, {}}});
  const std::string path = testing::TempDir() + "/job_log.csv";
  {
    std::ofstream file(path);
    for (const std::string& line : psql("copy (select * from muster.job_log) to stdout csv header"))
      file << line << '\n';
  }
  const auto jobs = read_trace(path, TraceFormat::kMuster, {{}, days(3650), 1000});
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1U);  // Job 2 still runs, job 3 never did.
  EXPECT_EQ(jobs->front().run, milliseconds(4500));
  EXPECT_EQ(jobs->front().gpus, 2U);
}

TEST_F(AccountingTest, FractionsStayExact) {
  write({submission(1, "kim")});
  write({start(key_of(1, 1), {0}, 1)});
  write({AttemptLaunched{key_of(1, 1), "", {}}});
  write({end(key_of(1, 1), CauseKind::kExited, 1234, 1, 1),
         ElementsEnded{JobId{1}, {{0, 0, 1}}, {}}});
  const std::vector<AccountingRow> rows = query();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].gpu_seconds, "1.234");
  EXPECT_EQ(rows[0].cpu_seconds, "1.234");
  EXPECT_EQ(rows[0].cost, "0.001035");  // 1.234 s of 3.02 an hour is 0.00103518…
}

TEST_F(AccountingTest, RunningAttemptShowsUsageSoFar) {
  write({submission(1, "kim"), start(key_of(1, 1), {0, 1, 2, 3}, 4)});
  EXPECT_EQ(query().at(0).state, "active");
  EXPECT_EQ(query().at(0).gpu_seconds, "0");  // Not launched: not charged.
  psql(
      "insert into muster.attempts_launched select cluster, 99, 0, 1, 0, now() - interval '100 s', "
      "job, element, attempt, '' "
      "from muster.attempts_started");
  const double used = std::stod(query().at(0).gpu_seconds);
  EXPECT_GE(used, 400);
  EXPECT_LT(used, 800);
  EXPECT_GT(std::stod(query().at(0).cost), 0);
  EXPECT_EQ(psql_value("select node_names::text || ' ' || gpus from muster.running"), "{n1} 4");
}

TEST_F(AccountingTest, PriceOfTheLaunchDateHolds) {
  psql(
      "insert into muster.prices values ('on-demand', 'gpu-hour', 'h100', '2026-09-22T00:00Z', 5), "
      "('on-demand', 'gpu-hour', 'h100', '2026-09-01T00:00Z', 4)");
  write({submission(1, "kim"), start(key_of(1, 1), {0}, 0)});
  write({AttemptLaunched{key_of(1, 1), "", {}}});
  write({end(key_of(1, 1), CauseKind::kCompleted, 3600000, 1, 0)});
  EXPECT_EQ(query().at(0).cost, "4");
}

TEST_F(AccountingTest, ArrayElementsHaveTheirOwnRows) {
  JobSubmitted array = submission(1, "kim");
  array.spec.array.ranges = {{0, 9, 1}};
  write({array, start(key_of(1, 1, 3), {0}, 1)});
  ElementsEnded cancelled{JobId{1}, {{4, 8, 2}}, {}};
  cancelled.cause.kind = CauseKind::kCancelled;
  write({cancelled});
  const std::vector<AccountingRow> rows = query();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_TRUE(rows[0].is_array);
  EXPECT_EQ(rows[0].element, Element{3});
  EXPECT_EQ(rows[0].state, "active");
  EXPECT_EQ(rows[3].element, Element{8});
  EXPECT_EQ(rows[3].cause, "cancelled");
}

TEST_F(AccountingTest, FiltersNarrow) {
  for (std::uint64_t job = 1; job <= 20; ++job) {
    JobSubmitted event = submission(job, job % 2 == 0 ? "kim" : "o'lee \"x\"");
    event.spec.account = job <= 10 ? "lab" : "biz";
    event.spec.queue = job % 5 == 0 ? "slow" : "main";
    event.spec.qos = job % 4 == 0 ? "high" : "";
    write({event});
  }
  write({JobChanged{JobId{1}, {}, {}, "biz", {}, {}, {}, "root"}});
  AccountingFilter filter;
  EXPECT_EQ(query().size(), 20U);
  EXPECT_EQ(query().at(0).job, JobId{20});
  filter.users = {"o'lee \"x\""};
  EXPECT_EQ(query(filter).size(), 10U);
  filter.accounts = {"biz"};
  EXPECT_EQ(query(filter).size(), 6U);
  filter.queues = {"slow", "none"};
  EXPECT_EQ(query(filter).size(), 1U);
  filter = {};
  filter.qos = {"high"};
  ASSERT_EQ(query(filter).size(), 5U);
  EXPECT_EQ(query(filter)[0].qos, "high");
  JobChanged changed{JobId{20}, {}, {}, {}, {}, {}, {}, "root"};
  changed.qos = "";
  write({changed});
  changed.job = JobId{1};
  changed.qos = "high";
  write({changed});
  ASSERT_EQ(query(filter).size(), 5U);
  EXPECT_EQ(query(filter)[0].job, JobId{16});
  EXPECT_EQ(query(filter)[4].job, JobId{1});
  filter.qos = {""};
  EXPECT_EQ(query(filter).size(), 15U);
  filter = {};
  filter.limit = 3;
  EXPECT_EQ(query(filter).size(), 3U);
  filter.limit = 0;
  EXPECT_FALSE(reports_->query(filter).ok());
  filter = {};
  filter.states = {"ended", "exited"};
  EXPECT_EQ(query(filter).size(), 0U);
  filter.states = {"pending"};
  EXPECT_EQ(query(filter).size(), 20U);
  filter = {};
  filter.until = record_of(6, {}).wall;
  EXPECT_EQ(query(filter).size(), 4U);
  filter = {};
  filter.jobs = {JobId{7}, JobId{700}};
  EXPECT_EQ(query(filter).size(), 1U);
}

TEST_F(AccountingTest, NoServerIsUnavailable) {
  const Result<Accounting> none = Accounting::connect("host=/nonexistent dbname=none", "test");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace muster
