// Job ids and signals as people type them.
#include "submit/cli/job_list.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

std::string parsed(const std::vector<std::string>& words) {
  auto jobs = parse_jobs(words);
  if (!jobs) return "error: " + jobs.error().message;
  std::string text;
  for (const JobChoice& job : *jobs) text += (text.empty() ? "" : " ") + to_text(job);
  return text;
}

TEST(JobList, ReadsJobsAndElements) {
  EXPECT_EQ(parsed({"17"}), "17");
  EXPECT_EQ(parsed({"17,18", "19_3"}), "17 18 19_3");
  EXPECT_EQ(parsed({"17_[0-2,9],20"}), "17_0 17_1 17_2 17_9 20");
  EXPECT_EQ(parsed({}), "");
}

TEST(JobList, RefusesWhatIsNone) {
  for (const char* word : {"", "x", "0", "-1", "17_", "17_x", "17_[", "17_[]", "17_1-2", "17,",
                           "1.5", "99999999999999999999"}) {
    EXPECT_EQ(parsed({word}), "error: \"" +
                                  std::string(word).substr(std::string(word) == "17," ? 3 : 0) +
                                  "\" is not a job such as 17, 17_3 or 17_[0-9]")
        << word;
  }
  EXPECT_EQ(parsed({"17_[0-200000]"}),
            "error: more than 100000 elements; name the whole array instead");
  EXPECT_EQ(parse_job("17_[1-2]").error().message, "one job is meant here, not 2");
}

TEST(JobList, ShowsRows) {
  JobRow row;
  row.job = JobId{17};
  EXPECT_EQ(job_text(row), "17");
  row.is_array = true;
  row.element = Element{3};
  EXPECT_EQ(job_text(row), "17_3");
  row.elements = "0-99:2";
  EXPECT_EQ(job_text(row), "17_[0-99:2]");
}

TEST(Signals, HaveNamesAndNumbers) {
  EXPECT_EQ(*parse_signal("USR1"), SIGUSR1);
  EXPECT_EQ(*parse_signal("SIGTERM"), SIGTERM);
  EXPECT_EQ(*parse_signal("9"), SIGKILL);
  EXPECT_EQ(parse_signal("USR9").error().message,
            "\"USR9\" is not a signal such as TERM, USR1 or 10; did you mean USR1?");
  EXPECT_FALSE(parse_signal("0").ok());
  EXPECT_FALSE(parse_signal("65").ok());
}

}  // namespace
}  // namespace muster
