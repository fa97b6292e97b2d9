// Token buckets, and what the gateway reads of an envelope.
#include "submit/gateway/rate.h"

#include <gtest/gtest.h>

#include "base/message/codec.h"
#include "submit/gateway/peek.h"

namespace muster {
namespace {

TEST(RateLimiter, ABurstThenASteadyRatePerUser) {
  RateLimiter limiter({1000, 5000});
  const Uid kim{1000};
  std::int64_t now_ms = 1000000;
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(limiter.take(kim, 1, now_ms), 0U);
  EXPECT_EQ(limiter.take(kim, 1, now_ms), 1U);
  EXPECT_EQ(limiter.take({1001}, 1, now_ms), 0U);
  now_ms += 10;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(limiter.take(kim, 1, now_ms), 0U);
  EXPECT_NE(limiter.take(kim, 1, now_ms), 0U);
  now_ms += 60000;
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(limiter.take(kim, 1, now_ms), 0U);
  EXPECT_NE(limiter.take(kim, 1, now_ms), 0U);
}

TEST(RateLimiter, BulksPayForWhatTheyAreAndAClockThatStepsBackIsHarmless) {
  RateLimiter limiter({1000, 100});
  EXPECT_EQ(limiter.take({1}, 1000, 5000), 0U);  // More than the burst: a full bucket will do.
  EXPECT_EQ(limiter.take({1}, 1, 5000), 901U);   // And is paid off.
  EXPECT_NE(limiter.take({1}, 1, 4000), 0U);
  EXPECT_EQ(limiter.take({1}, 1, 5902), 0U);
}

std::string packed(Verb verb, std::string body, std::uint64_t number = 5) {
  Request request;
  request.number = number;
  request.verb = verb;
  request.body = std::move(body);
  return encode(request);
}

TEST(Peek, ReadsTheEnvelopeAndTheSizeOfABatch) {
  const auto ping = peek_request(packed(Verb::kPing, ""));
  ASSERT_TRUE(ping.ok());
  EXPECT_EQ(ping->number, 5U);
  EXPECT_EQ(ping->cost, 1U);
  SubmitBody body;
  for (const std::size_t jobs : {0U, 1U, 15U, 16U, 999U, 1000U, 10000U}) {
    body.jobs.resize(jobs);
    const auto head = peek_request(packed(Verb::kSubmit, encode(body)));
    ASSERT_TRUE(head.ok());
    EXPECT_EQ(head->cost, 1 + jobs / 1000) << jobs;
  }
  for (const std::string& strange :
       {std::string(), std::string("\x81"), std::string("\x81\x02\x90"),
        std::string("\x81\x01\xdd\xff\xff\xff\xff")}) {
    EXPECT_EQ(peek_request(packed(Verb::kSubmit, strange))->cost, 11U);
  }
}

TEST(Peek, RefusesWhatIsNoRequest) {
  for (const std::string& bytes :
       {std::string(), std::string("\xc0"), std::string("\x80"), std::string(1000, '\x91'),
        std::string("\xdf\xff\xff\xff\xff"), packed(Verb::kPing, "", 0),
        packed(static_cast<Verb>(200), "")}) {
    EXPECT_FALSE(peek_request(bytes).ok());
  }
}

}  // namespace
}  // namespace muster
