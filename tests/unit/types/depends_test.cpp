// The text of dependencies.
#include "base/types/depends.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Depends, ReadsWhatSlurmWrites) {
  const auto read = parse_depends("afterok:12:13_4,after:14+30,singleton,aftercorr:7");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->conditions.size(), 5U);
  EXPECT_FALSE(read->any);
  EXPECT_EQ(read->conditions[1], (Condition{After::kOk, JobId{13}, Element{4}, {}}));
  EXPECT_EQ(read->conditions[2], (Condition{After::kStarted, JobId{14}, {}, minutes(30)}));
  EXPECT_EQ(read->conditions[3].kind, After::kSingleton);
  EXPECT_EQ(to_text(*read), "afterok:12,afterok:13_4,after:14+30,singleton,aftercorr:7");
  EXPECT_TRUE(parse_depends("afterok:1?afterany:2:3")->any);
  EXPECT_EQ(to_text(*parse_depends("afterok:1?afterany:2:3")), "afterok:1?afterany:2?afterany:3");
}

TEST(Depends, NamesWhatIsWrong) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const auto read = parse_depends(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
    EXPECT_LT(read.error().message.size(), 300U);
  };
  refused("", "expected after");
  refused("afterok", "which job?");
  refused("afterok:", "\"afterok:\"");
  refused("afterok:1:", "\"afterok:1:\"");
  refused("afterokay:1", "expected after");
  refused("afterok:0", "no job 0");
  refused("afterok:-1", "\"afterok:-1\"");
  refused("afterok:18446744073709551616", "\"afterok:");
  refused("afterok:1_4294967296", "\"afterok:1_");
  refused("afterok:1+5", "+MINUTES is for after: only");
  refused("after:1+", "\"after:1+\"");
  refused("after:1+999999999", "\"after:1+");
  refused("aftercorr:1_2", "takes a whole array");
  refused("singleton:1", "singleton takes no job");
  refused("afterok:1,afterok:2?afterok:3", "not both");
  refused("afterok:1,,afterok:2", "expected after");
  std::string many = "afterok";
  for (int i = 1; i <= 1001; ++i) many += ":" + std::to_string(i);
  refused(many, "more than 1000");
  refused("after\x1b[2J:1", "expected after");
}

}  // namespace
}  // namespace muster
