// Accounting: exact sums, the table and its total.
#include "submit/cli/acct_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace muster {
namespace {

std::string sum(const std::vector<std::string_view>& words) { return sum_of_decimals(words); }

TEST(Decimals, AddUpExactly) {
  EXPECT_EQ(sum({}), "0");
  EXPECT_EQ(sum({"0.1", "0.2"}), "0.3");
  EXPECT_EQ(sum({"99999999999999999999.999999", "0.000001"}), "100000000000000000000");
  EXPECT_EQ(sum({"1200", "0.25", "junk", "-1", "1.2.3"}), "1200.25");
}

TEST(Accounting, HasATableAndATotal) {
  setenv("TZ", "UTC", 1);
  tzset();
  AccountingRow row;
  row.job = JobId{17};
  row.name = "train";
  row.user = "kim";
  row.account = "vision";
  row.state = "ended";
  row.cause = "completed";
  row.started = WallTime{1796058477000000};
  row.elapsed = seconds(90);
  row.gpus = 8;
  row.gpu_seconds = "720";
  row.cpu_seconds = "12.5";
  row.cost = "0.4";
  row.currency = "EUR";
  EXPECT_EQ(
      accounting_table({&row, 1}, {}),
      "JOB  NAME   USER  ACCOUNT  STATE      STARTED           TIME  GPUS  GPU-S  CPU-S     COST\n"
      "17   train  kim   vision   completed  2026-11-30 17:07  1:30     8    720   12.5  0.4 "
      "EUR\n");
  AccountingRow other = row;
  other.is_array = true;
  other.element = Element{4};
  other.cause = "exited";
  other.exit_status = 3;
  AccountingRow waiting;
  waiting.job = JobId{17};
  waiting.is_array = true;
  waiting.element = Element{5};
  waiting.elements = "5-99";
  waiting.state = "pending";
  const std::string range = accounting_table({&waiting, 1}, {});
  EXPECT_NE(range.find("17_[5-99]"), std::string::npos) << range;
  AccountingRow urgent = row;
  urgent.qos = "high";
  const std::string with_qos = accounting_table(std::vector<AccountingRow>{row, urgent}, {});
  EXPECT_THAT(with_qos, ::testing::HasSubstr("ACCOUNT  QOS   STATE"));
  EXPECT_THAT(with_qos, ::testing::HasSubstr("vision   high  completed"));
  EXPECT_THAT(with_qos, ::testing::HasSubstr("vision   -     completed"));
  const std::vector<AccountingRow> rows{row, other};
  const std::string text = accounting_table(rows, {});
  EXPECT_NE(text.find("17_4"), std::string::npos);
  EXPECT_NE(text.find("exited 3"), std::string::npos);
  EXPECT_NE(text.find("\nTotal of 2 rows: 1440 GPU-seconds, 25 CPU-seconds, 0.8 EUR\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace muster
