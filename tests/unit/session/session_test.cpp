// Sessions step by step: meeting, numbering, limits, restarts, lies.
#include "base/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Gives every packet of `from` to `to`; what came up there.
Received deliver(Session& from, Session& to, Instant now = {}) {
  Received all;
  for (const std::string& packet : from.take_outgoing(now)) {
    const auto received = to.receive(packet);
    EXPECT_TRUE(received.ok()) << received.error().message;
    all.fresh = all.fresh || received->fresh;
    for (const std::string& payload : received->payloads) all.payloads.push_back(payload);
  }
  return all;
}

struct Pair {
  explicit Pair(SessionLimits limits = {}) : worker(100, limits), controller(5, limits) {
    worker.reconnect();
    EXPECT_TRUE(deliver(worker, controller).fresh);
    EXPECT_TRUE(deliver(controller, worker).fresh);
    deliver(worker, controller);
  }
  Session worker;
  Session controller;
};

TEST(Session, NobodySpeaksBeforeMeeting) {
  Session session(1);
  const auto sent = session.send("x");
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(session.take_outgoing({}), IsEmpty());
  EXPECT_FALSE(session.wake_at().has_value());
}

TEST(Session, HelloIsRepeatedUntilAnswered) {
  Session session(1);
  session.reconnect();
  EXPECT_EQ(session.take_outgoing(Instant{0}).size(), 1U);
  ASSERT_TRUE(session.wake_at().has_value());
  EXPECT_EQ(session.take_outgoing(Instant{1}).size(), 0U);
  EXPECT_EQ(session.take_outgoing(*session.wake_at()).size(), 1U);
  EXPECT_GT(*session.wake_at(), Instant{0} + seconds(2));
}

TEST(Session, PayloadsArriveInOrderAndAreAcknowledged) {
  Pair pair;
  ASSERT_TRUE(pair.worker.send("a").ok());
  ASSERT_TRUE(pair.worker.send("").ok());
  ASSERT_TRUE(pair.worker.send("c").ok());
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, ElementsAre("a", "", "c"));
  EXPECT_FALSE(pair.worker.is_idle());
  deliver(pair.controller, pair.worker);
  EXPECT_TRUE(pair.worker.is_idle());
  EXPECT_EQ(pair.worker.queued_bytes(), 0U);
  EXPECT_FALSE(pair.worker.wake_at().has_value());
}

TEST(Session, LargePayloadsTravelInParts) {
  Pair pair;
  std::string large(3 * kPacketPayloadMax + 17, 'x');
  large.back() = 'y';
  ASSERT_TRUE(pair.controller.send(large).ok());
  EXPECT_EQ(pair.controller.queued_parts(), 4U);
  EXPECT_THAT(deliver(pair.controller, pair.worker).payloads, ElementsAre(large));
}

TEST(Session, FlightIsBoundedAndContinuesWithAcknowledgements) {
  SessionLimits limits;
  limits.flight_parts_max = 2;
  Pair pair(limits);
  for (const char* text : {"1", "2", "3", "4", "5"}) ASSERT_TRUE(pair.worker.send(text).ok());
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, ElementsAre("1", "2"));
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, IsEmpty());
  deliver(pair.controller, pair.worker);
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, ElementsAre("3", "4"));
}

TEST(Session, FullIsAnAnswer) {
  SessionLimits limits;
  limits.queue_parts_max = 2;
  limits.queue_bytes_max = 10;
  limits.payload_max = 9;
  Pair pair(limits);
  EXPECT_EQ(pair.worker.send("0123456789").error().code, ErrorCode::kLimit);
  EXPECT_TRUE(pair.worker.send("01234567").ok());
  EXPECT_EQ(pair.worker.send("012").error().code, ErrorCode::kLimit);
  EXPECT_TRUE(pair.worker.send("01").ok());
  EXPECT_EQ(pair.worker.send("").error().code, ErrorCode::kLimit);
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, ElementsAre("01234567", "01"));
}

TEST(Session, LossIsRepeatedAfterAGapOrSilence) {
  Pair pair;
  ASSERT_TRUE(pair.worker.send("a").ok());
  (void)pair.worker.take_outgoing({});  // Lost.
  ASSERT_TRUE(pair.worker.send("b").ok());
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, IsEmpty());  // "b" alone: a gap.
  deliver(pair.controller, pair.worker);
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, ElementsAre("a", "b"));
  ASSERT_TRUE(pair.worker.send("c").ok());
  deliver(pair.controller, pair.worker);
  (void)pair.worker.take_outgoing({});  // Lost, and nothing follows.
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, IsEmpty());
  EXPECT_THAT(deliver(pair.worker, pair.controller, *pair.worker.wake_at()).payloads,
              ElementsAre("c"));
}

TEST(Session, ReconnectRepeatsAtOnceOnBothSides) {
  Pair pair;
  ASSERT_TRUE(pair.worker.send("up").ok());
  ASSERT_TRUE(pair.controller.send("down").ok());
  (void)pair.worker.take_outgoing({});
  (void)pair.controller.take_outgoing({});
  pair.worker.reconnect();
  EXPECT_THAT(deliver(pair.worker, pair.controller).payloads, IsEmpty());
  EXPECT_THAT(deliver(pair.controller, pair.worker).payloads, ElementsAre("down"));
}

TEST(Session, ANewIncarnationStartsAnew) {
  Pair pair;
  ASSERT_TRUE(pair.controller.send("for the old one").ok());
  Session worker(101);
  worker.reconnect();
  EXPECT_TRUE(deliver(worker, pair.controller).fresh);
  EXPECT_TRUE(pair.controller.is_idle());
  EXPECT_TRUE(deliver(pair.controller, worker).fresh);
  ASSERT_TRUE(pair.controller.send("for the new one").ok());
  EXPECT_THAT(deliver(pair.controller, worker).payloads, ElementsAre("for the new one"));
  const std::vector<std::string> late = [&] {
    pair.worker.reconnect();
    return pair.worker.take_outgoing({});
  }();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(pair.controller.receive(late[0]).error().code, ErrorCode::kConflict);
}

TEST(Session, ARestartedControllerIsMetByTheNextPacket) {
  Pair pair;
  ASSERT_TRUE(pair.worker.send("state of the old session").ok());
  Session controller(6);
  EXPECT_TRUE(deliver(pair.worker, controller).fresh);
  EXPECT_TRUE(deliver(controller, pair.worker).fresh);
  EXPECT_TRUE(pair.worker.is_idle());
  ASSERT_TRUE(pair.worker.send("hello").ok());
  EXPECT_THAT(deliver(pair.worker, controller).payloads, ElementsAre("hello"));
}

TEST(Session, LiesAreRefusedAndChangeNothing) {
  Pair pair;
  ASSERT_TRUE(pair.controller.send("x").ok());
  const std::string forged = encode_packet({PacketKind::kAck, 100, 5, 0, 99, {}});
  EXPECT_EQ(pair.controller.receive(forged).error().code, ErrorCode::kCorrupt);
  const std::string fresh_lie = encode_packet({PacketKind::kAck, 101, 5, 0, 1, {}});
  EXPECT_EQ(pair.controller.receive(fresh_lie).error().code, ErrorCode::kCorrupt);
  const std::string twin = encode_packet({PacketKind::kHello, 100, 50, 0, 0, {}});
  EXPECT_EQ(pair.controller.receive(twin).error().code, ErrorCode::kConflict);
  EXPECT_EQ(pair.controller.peer_incarnation(), 100U);
  EXPECT_THAT(deliver(pair.controller, pair.worker).payloads, ElementsAre("x"));
}

TEST(Session, AnEndlessPayloadIsCutOff) {
  SessionLimits limits;
  limits.payload_max = kPacketPayloadMax;
  Pair pair(limits);
  const std::string part(kPacketPayloadMax, 'x');
  EXPECT_TRUE(
      pair.controller.receive(encode_packet({PacketKind::kDataMore, 100, 5, 1, 0, part})).ok());
  const auto second =
      pair.controller.receive(encode_packet({PacketKind::kDataMore, 100, 5, 2, 0, part}));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace muster
