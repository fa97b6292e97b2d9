// Traces as they are, and as they should not be.
#include "controller/sim/replay/trace_file.h"

#include "tests/unit/sim_replay/trace_text.h"

namespace muster {
namespace {

constexpr TraceWindow kAll{{}, days(3650), 1000};

std::string complaint(const std::string& text, TraceFormat format) {
  const TraceText file(text);
  const auto jobs = read_trace(file.path(), format, kAll);
  if (jobs) return "";
  const std::string& message = jobs.error().message;
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

TEST(TraceFile, ReadsPhillyInTheOrderOfSubmission) {
  const TraceText file(std::string(kPhillyHeader) +
                       "2017-10-09 07:01:55,66.0,1,66.0,11cb48\r\n"
                       "2017-10-09 06:13:03,2951.5,8,1,6214e9\r\n"
                       "2017-10-09 06:13:03,1,0,1,6214e9\r\n");
  const auto jobs = read_trace(file.path(), TraceFormat::kPhilly, kAll);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);  // The one without GPUs is left out.
  EXPECT_EQ((*jobs)[0].submitted, Instant{});
  EXPECT_EQ((*jobs)[0].run, milliseconds(2951500));
  EXPECT_EQ((*jobs)[0].gpus, 8U);
  EXPECT_EQ((*jobs)[1].submitted, Instant{} + seconds(48 * 60 + 52));
  EXPECT_NE((*jobs)[0].owner, (*jobs)[1].owner);
}

TEST(TraceFile, KeepsToTheWindow) {
  const TraceText file(std::string(kPhillyHeader) +
                       "2017-10-01 00:00:00,1,1,1,a\n"
                       "2017-10-02 00:00:00,2,1,1,a\n"
                       "2017-10-02 12:00:00,3,9,1,a\n"
                       "2017-10-03 00:00:00,4,1,1,a\n");
  const auto jobs = read_trace(file.path(), TraceFormat::kPhilly, {days(1), days(1), 8});
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 1U);
  EXPECT_EQ((*jobs)[0].run, seconds(2));
  EXPECT_EQ((*jobs)[0].submitted, Instant{});
}

TEST(TraceFile, ReadsSwf) {
  const TraceText file(
      "; Version: 2.2\n"
      "  1  0 10 3600 16 -1 -1 16 7200 -1 1 101 1 1 1 1 -1 -1\n"
      "2 60 10 30 -1 -1 -1 4 7200 -1 1 102 1 1 1 1 -1 -1\n"
      "3 70 -1 -1 4 -1 -1 4 7200 -1 5 102 1 1 1 1 -1 -1\n");
  const auto jobs = read_trace(file.path(), TraceFormat::kSwf, kAll);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);  // The third never ran.
  EXPECT_EQ((*jobs)[0].gpus, 16U);
  EXPECT_EQ((*jobs)[0].run, hours(1));
  EXPECT_EQ((*jobs)[1].gpus, 4U);  // As asked for: what it got is not known.
  EXPECT_EQ((*jobs)[1].submitted, Instant{} + minutes(1));
}

constexpr char kSacctHeader[] = "JobID|JobName|User|Submit|ElapsedRaw|State|AllocTRES\n";

TEST(TraceFile, ReadsSacct) {
  const TraceText file(
      std::string(kSacctHeader) +
      "10|train-1|kim|2026-09-01T10:00:00|3600|COMPLETED|billing=8,cpu=8,gres/gpu:a100=2,gres/"
      "gpu=2\n"
      "10.batch|batch||2026-09-01T10:00:00|3600|COMPLETED|cpu=8,gres/gpu=2\n"
      "11_4|sweep|lee|2026-09-01T09:00:00|60|CANCELLED by 1000|gres/gpu:a100=1,gres/gpu:h100=2\n"
      "12|cpu|kim|2026-09-01T10:00:00|60|COMPLETED|cpu=8\n"
      "13|wait|kim|2026-09-01T10:00:00|0|PENDING|\n"
      "14|runs|kim|2026-09-01T10:00:00|50|RUNNING|gres/gpu=1\n"
      "15_[1-9]|never|kim|2026-09-01T10:00:00|0|CANCELLED|\n");
  const auto jobs = read_trace(file.path(), TraceFormat::kSacct, kAll);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].gpus, 3U);
  EXPECT_EQ((*jobs)[0].run, seconds(60));
  EXPECT_EQ((*jobs)[1].name, "train-1");
  EXPECT_EQ((*jobs)[1].gpus, 2U);
  EXPECT_EQ((*jobs)[1].submitted, Instant{} + hours(1));
  EXPECT_NE((*jobs)[0].owner, (*jobs)[1].owner);
}

TEST(TraceFile, ReadsSacctWithOtherColumns) {
  const TraceText file(
      "ReqTRES|Elapsed|JobID|Submit\ngres/gpu=4|1-00:00:01|7|2026-09-01T10:00:00\n");
  const auto jobs = read_trace(file.path(), TraceFormat::kSacct, kAll);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ((*jobs)[0].run, days(1) + seconds(1));
  EXPECT_EQ((*jobs)[0].gpus, 4U);
}

TEST(TraceFile, NamesFileAndLineOfBadSacct) {
  const auto bad = [](const std::string& text) { return complaint(text, TraceFormat::kSacct); };
  const std::string header = kSacctHeader;
  EXPECT_TRUE(bad("JobID|User\n1|kim\n").starts_with(":1: the header must name JobID, Submit,"));
  EXPECT_EQ(bad(header + "1|a|kim\n"), ":2: 7 fields are expected, here are 3");
  EXPECT_EQ(bad(header + "1|a|kim|Unknown|60|COMPLETED|gres/gpu=1\n"),
            ":2: 'Unknown' is not a time such as 2026-09-01T07:01:55");
  EXPECT_EQ(bad(header + "1|a|kim|2026-09-01T10:00:00|-5|COMPLETED|gres/gpu=1\n"),
            ":2: ElapsedRaw '-5' is not a number of seconds");
  EXPECT_EQ(bad(header + "1|a|kim|2026-09-01T10:00:00|5|COMPLETED|gres/gpu=many\n"),
            ":2: 'gres/gpu=many' has no number of GPUs between 0 and 100000");
  EXPECT_EQ(bad("JobID|Submit|Elapsed|AllocTRES\n1|2026-09-01T10:00:00|1:2:3:4|gres/gpu=1\n"),
            ":2: Elapsed '1:2:3:4' is not a time such as 1-02:03:04");
}

constexpr char kLogHeader[] = "submitted,run_seconds,gpus,user_name,queue,name\n";

TEST(TraceFile, ReadsItsOwnJobLog) {
  const TraceText file(std::string(kLogHeader) +
                       "2026-09-01 10:00:00,3600.125,2,kim,day,\"sweep, \"\"wide\"\"\"\n"
                       "2026-09-01 09:00:00,60,4,lee,day,\n"
                       "2026-09-01 09:30:00,60,0,lee,day,only-cpus\n");
  const auto jobs = read_trace(file.path(), TraceFormat::kMuster, kAll);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].gpus, 4U);
  EXPECT_EQ((*jobs)[0].name, "");
  EXPECT_EQ((*jobs)[1].run, milliseconds(3'600'125));
  EXPECT_EQ((*jobs)[1].submitted, Instant{} + hours(1));
  EXPECT_EQ((*jobs)[1].name, "sweep, \"wide\"");
  EXPECT_NE((*jobs)[0].owner, (*jobs)[1].owner);
}

TEST(TraceFile, NamesFileAndLineOfABadJobLog) {
  const auto bad = [](const std::string& text) { return complaint(text, TraceFormat::kMuster); };
  const std::string header = kLogHeader;
  EXPECT_TRUE(bad("job,gpus\n1,2\n").starts_with(":1: the header must name submitted, run_sec"));
  EXPECT_EQ(bad(header + "2026-09-01 10:00:00,60,1\n"), ":2: 6 fields are expected, here are 3");
  EXPECT_EQ(bad(header + "now,60,1,kim,day,a\n"),
            ":2: submitted 'now' is not a time such as 2026-09-01 07:01:55");
  EXPECT_EQ(bad(header + "2026-09-01 10:00:00,-1,1,kim,day,a\n"),
            ":2: run_seconds '-1' is not between 0 and 3650 days");
  EXPECT_EQ(bad(header + "2026-09-01 10:00:00,nan,1,kim,day,a\n"),
            ":2: run_seconds 'nan' is not between 0 and 3650 days");
  EXPECT_EQ(bad(header + "2026-09-01 10:00:00,60,1.5,kim,day,a\n"),
            ":2: gpus '1.5' is not between 0 and 100000");
  EXPECT_EQ(bad(header + "2026-09-01 10:00:00,60,1,kim,day,\"a\n"), ":2: a quote is not closed");
  EXPECT_EQ(bad(header + "2026-09-01 10:00:00,60,1,kim,day,\"a\"b\n"),
            ":2: text follows a closed quote");
}

TEST(TraceFile, NamesFileAndLineOfWhatItDoesNotUnderstand) {
  const std::string header = kPhillyHeader;
  EXPECT_EQ(complaint(header + "2017-10-09 07:01:55,66.0,1,66.0\n", TraceFormat::kPhilly),
            ":2: 5 columns are expected, here are 4");
  EXPECT_EQ(
      complaint(header + "2017-10-09 07:01:55,1,1,1,a\nyesterday,1,1,1,a\n", TraceFormat::kPhilly),
      ":3: 'yesterday' is not a time such as 2017-10-09 07:01:55");
  EXPECT_EQ(complaint(header + "2017-10-09 07:01:55,long,1,1,a\n", TraceFormat::kPhilly),
            ":2: the run time 'long' is not a number of seconds");
  EXPECT_EQ(complaint(header + "2017-10-09 07:01:55,-1,1,1,a\n", TraceFormat::kPhilly),
            ":2: the run time '-1' is not between 0 and 3650 days");
  EXPECT_EQ(complaint(header + "2017-10-09 07:01:55,nan,1,1,a\n", TraceFormat::kPhilly),
            ":2: the run time 'nan' is not a number of seconds");
  EXPECT_EQ(complaint(header + "2017-10-09 07:01:55,1,1.5,1,a\n", TraceFormat::kPhilly),
            ":2: '1.5' is not a number of GPUs");
  EXPECT_EQ(complaint("2017-10-09 07:01:55,1,1,1,a\n", TraceFormat::kPhilly),
            ":1: the header timestamp,… is missing");
  EXPECT_EQ(complaint("1 0 10 3600\n", TraceFormat::kSwf),
            ":1: 18 fields are expected, here are 4");
  EXPECT_EQ(complaint(header + std::string(5000, 'x') + "\n", TraceFormat::kPhilly),
            ":2: the line is longer than 4096 bytes");
}

TEST(TraceFile, SaysWhenThereIsNothing) {
  EXPECT_NE(complaint(kPhillyHeader, TraceFormat::kPhilly), "");
  const auto none = read_trace("/nonexistent/trace", TraceFormat::kPhilly, kAll);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace muster
