// Times to come, in a zone with summer time.
#include "submit/script/time_ahead.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

namespace muster {
namespace {

WallTime utc(const char* text) { return *parse_time_ahead(text, {}); }

class TimeAhead : public ::testing::Test {
 protected:
  TimeAhead() {
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  const WallTime now_ = utc("2026-11-30T17:30:00Z");  // 18:30 there.
  WallTime at(const char* text) const {
    const auto read = parse_time_ahead(text, now_);
    EXPECT_TRUE(read.ok()) << text;
    return read.ok() ? *read : WallTime{};
  }
};

TEST_F(TimeAhead, ReadsWhatPeopleWrite) {
  EXPECT_EQ(at("now"), now_);
  EXPECT_EQ(at("now+90").us, now_.us + seconds(90).us);
  EXPECT_EQ(at("now+1hour").us, now_.us + hours(1).us);
  EXPECT_EQ(at("now+3days").us, now_.us + days(3).us);
  EXPECT_EQ(at("now+1h30m").us, now_.us + minutes(90).us);
  EXPECT_EQ(at("now+2weeks").us, now_.us + days(14).us);
  EXPECT_EQ(at("19:00"), utc("2026-11-30T18:00:00Z"));
  EXPECT_EQ(at("16:00"), utc("2026-12-01T15:00:00Z"));
  EXPECT_EQ(at("18:30"), utc("2026-12-01T17:30:00Z"));
  EXPECT_EQ(at("noon"), utc("2026-12-01T11:00:00Z"));
  EXPECT_EQ(at("midnight"), utc("2026-11-30T23:00:00Z"));
  EXPECT_EQ(at("today"), utc("2026-11-29T23:00:00Z"));
  EXPECT_EQ(at("tomorrow"), utc("2026-11-30T23:00:00Z"));
  EXPECT_EQ(at("2026-12-24T18:00"), utc("2026-12-24T17:00:00Z"));
  EXPECT_EQ(at("2026-12-24"), utc("2026-12-23T23:00:00Z"));
  EXPECT_EQ(at("2026-07-01 08:00:05"), utc("2026-07-01T06:00:05Z"));
}

TEST_F(TimeAhead, RefusesTheRest) {
  for (const char* text : {"", "now-1h", "now+", "now+h", "now+1parsec", "now+99999999999", "25:00",
                           "1:00", "12:60", "2026-02-30", "2026-13-01", "yesterday", "tomorrow+1",
                           "now+4000days", "12:00:00:00", "2026-12-24T", "\x1b[2J"}) {
    const auto read = parse_time_ahead(text, now_);
    EXPECT_FALSE(read.ok()) << text;
  }
}

}  // namespace
}  // namespace muster
