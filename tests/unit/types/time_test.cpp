// Durations as people type them, instants as people read them.
#include "base/types/time.h"

#include <gtest/gtest.h>

#include "base/types/rng.h"

namespace muster {
namespace {

TEST(ParseDuration, AcceptsTheUsualForms) {
  const std::pair<const char*, Duration> cases[] = {{"90", minutes(90)},
                                                    {"90s", seconds(90)},
                                                    {"30m", minutes(30)},
                                                    {"2h", hours(2)},
                                                    {"1d", days(1)},
                                                    {"1d12h30m", hours(36) + minutes(30)},
                                                    {"1h5s", hours(1) + seconds(5)},
                                                    {"5:30", seconds(330)},
                                                    {"1:02:03", seconds(3723)},
                                                    {"0:7200", hours(2)},
                                                    {"0:10:00", minutes(10)},
                                                    {"72:00:00", hours(72)},
                                                    {"2-12", hours(60)},
                                                    {"2-12:30", hours(60) + minutes(30)},
                                                    {"1-00:00:01", days(1) + seconds(1)},
                                                    {"3650d", days(3650)},
                                                    {"000000000000000000000001", minutes(1)}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* text : {"",
                           "0",
                           "0s",
                           "0:00",
                           "0-0",
                           "-1",
                           "-1h",
                           "1h-1",
                           "h",
                           "1x",
                           "1h2h",
                           "1m1h",
                           "1.5h",
                           "1 h",
                           "1:2:3:4",
                           "1-2:3:4:5",
                           "1-",
                           "-",
                           ":",
                           "1:",
                           ":1",
                           "1--2",
                           "1-2-3",
                           "3651d",
                           "1h30",
                           "99999999999999999999",
                           "99999999999999999999d",
                           "9999999999999:00",
                           "\x1b",
                           "1H"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
  EXPECT_EQ(parse_duration("99999999999999999999d").error().message,
            "\"99999999999999999999d\" is too long: the limit is 3650 days");
}

TEST(DurationText, KeepsTheTwoLargestUnits) {
  EXPECT_EQ(to_text(Duration{}), "0s");
  EXPECT_EQ(to_text(seconds(45)), "45s");
  EXPECT_EQ(to_text(minutes(30)), "30m");
  EXPECT_EQ(to_text(hours(2) + seconds(7)), "2h");
  EXPECT_EQ(to_text(hours(36) + seconds(1)), "1d12h");
  EXPECT_EQ(to_text(seconds(-5)), "0s");
}

TEST(DurationClock, LooksLikeAClock) {
  EXPECT_EQ(to_clock(seconds(7)), "0:07");
  EXPECT_EQ(to_clock(seconds(750)), "12:30");
  EXPECT_EQ(to_clock(hours(2)), "2:00:00");
  EXPECT_EQ(to_clock(hours(36) + minutes(30)), "1-12:30:00");
}

TEST(Duration, ClockTextParsesBack) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    const Duration d = seconds(static_cast<std::int64_t>(rng.between(1, 3650ULL * 86400)));
    ASSERT_EQ(*parse_duration(to_clock(d)), d);
  }
}

TEST(WallTime, IsWrittenAsRfc3339) {
  EXPECT_EQ(to_rfc3339({0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339({-1}), "1969-12-31T23:59:59Z");
  EXPECT_EQ(to_rfc3339({951782400LL * 1000000}), "2000-02-29T00:00:00Z");
  EXPECT_EQ(to_rfc3339({951868800LL * 1000000}), "2000-03-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339({1796058477LL * 1000000 + 999999}), "2026-11-30T17:07:57Z");
  EXPECT_EQ(to_rfc3339({4107542400LL * 1000000}), "2100-03-01T00:00:00Z");
}

}  // namespace
}  // namespace muster
