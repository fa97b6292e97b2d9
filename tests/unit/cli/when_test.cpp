// Times as people type and read them, in a zone with summer time.
#include "submit/cli/when.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace muster {
namespace {

class When : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
  }
  // 2026-11-30T17:07:57Z.
  const WallTime now_{1796058477000000};
  std::string parsed(std::string_view text) {
    auto at = parse_when(text, now_);
    return at.ok() ? to_rfc3339(*at) : "error: " + at.error().message;
  }
};

TEST_F(When, ShowsLocalTime) {
  EXPECT_EQ(to_rfc3339(now_), "2026-11-30T17:07:57Z");
  EXPECT_EQ(local_time(now_), "2026-11-30 18:07");
  EXPECT_EQ(local_time_with_seconds(now_), "2026-11-30 18:07:57");
  EXPECT_EQ(local_time({}), "-");
}

TEST_F(When, ReadsDatesAndTimes) {
  EXPECT_EQ(parsed("2026-11-30"), "2026-11-29T23:00:00Z");
  EXPECT_EQ(parsed("2026-07-01T12:30"), "2026-07-01T10:30:00Z");
  EXPECT_EQ(parsed("2026-07-01 12:30:15"), "2026-07-01T10:30:15Z");
  EXPECT_EQ(parsed("2026-07-01T12:30:15Z"), "2026-07-01T12:30:15Z");
  EXPECT_EQ(parsed("now"), "2026-11-30T17:07:57Z");
  EXPECT_EQ(parsed("today"), "2026-11-29T23:00:00Z");
  EXPECT_EQ(parsed("yesterday"), "2026-11-28T23:00:00Z");
  EXPECT_EQ(parsed("7d"), "2026-11-23T17:07:57Z");
  EXPECT_EQ(parsed("90m"), "2026-11-30T15:37:57Z");
}

TEST_F(When, ReadsWhatIsToCome) {
  const auto ahead = [&](std::string_view text) {
    auto at = parse_when_ahead(text, now_);
    return at.ok() ? to_rfc3339(*at) : "error: " + at.error().message;
  };
  EXPECT_EQ(ahead("now"), "2026-11-30T17:07:57Z");
  EXPECT_EQ(ahead("tomorrow"), "2026-11-30T23:00:00Z");
  EXPECT_EQ(ahead("2h"), "2026-11-30T19:07:57Z");
  EXPECT_EQ(ahead("now+2h"), "2026-11-30T19:07:57Z");
  EXPECT_EQ(ahead("08:00"), "2026-12-01T07:00:00Z");
  EXPECT_EQ(ahead("2026-12-01T08:00"), "2026-12-01T07:00:00Z");
  EXPECT_EQ(ahead("yesterday").substr(0, 6), "error:");
}

TEST_F(When, RefusesTheRest) {
  for (const char* text : {"", "soon", "2026-13-01", "2026-02-30", "2026-11-30T25:00", "2026/11/30",
                           "-7d", "7", "2026-11-30T18:07:5", "99999999d"}) {
    EXPECT_EQ(parsed(text).substr(0, 6), "error:") << text;
  }
  EXPECT_EQ(parsed("soon"),
            "error: \"soon\" is not a time such as 2026-11-30, 2026-11-30T18:07, today, yesterday, "
            "or 7d (ago)");
}

}  // namespace
}  // namespace muster
