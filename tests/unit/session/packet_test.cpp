// Packets: there and back, and everything else refused.
#include "base/session/packet.h"

#include <gtest/gtest.h>

#include "base/types/rng.h"

namespace muster {
namespace {

Packet sample() { return {PacketKind::kData, 7, 9, 3, 2, "payload"}; }

TEST(Packet, ThereAndBack) {
  const std::string bytes = encode_packet(sample());
  EXPECT_EQ(bytes.size(), kPacketHeaderBytes + 7);
  const auto packet = decode_packet(bytes);
  ASSERT_TRUE(packet.ok());
  EXPECT_EQ(packet->kind, PacketKind::kData);
  EXPECT_EQ(packet->from, 7U);
  EXPECT_EQ(packet->to, 9U);
  EXPECT_EQ(packet->seq, 3U);
  EXPECT_EQ(packet->ack, 2U);
  EXPECT_EQ(packet->payload, "payload");
}

TEST(Packet, EveryTruncatedHeaderIsRefused) {
  const std::string bytes = encode_packet(sample());
  for (std::size_t size = 0; size < kPacketHeaderBytes; ++size) {
    EXPECT_FALSE(decode_packet(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST(Packet, ContradictionsAreRefused) {
  const std::string good = encode_packet(sample());
  const auto with = [&](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return decode_packet(bytes).ok();
  };
  EXPECT_FALSE(with(0, 'X'));
  EXPECT_FALSE(with(2, 2));   // Version.
  EXPECT_FALSE(with(3, 5));   // Kind.
  EXPECT_FALSE(with(3, 0));   // A hello with a payload.
  EXPECT_FALSE(with(4, 0));   // From nobody.
  EXPECT_FALSE(with(12, 0));  // Data to nobody.
  EXPECT_FALSE(with(20, 0));  // Data without a number.
  EXPECT_FALSE(decode_packet(good + std::string(kPacketPayloadMax, 'x')).ok());
}

// What decodes is exactly what encodes to the same bytes.
TEST(Packet, RandomBytesNeverDecodeToSomethingElse) {
  Rng rng(1);
  const std::string good = encode_packet(sample());
  for (int i = 0; i < 100000; ++i) {
    std::string bytes = good.substr(0, kPacketHeaderBytes + rng.below(8));
    for (std::uint64_t n = rng.below(6); n > 0; --n) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    const auto packet = decode_packet(bytes);
    if (packet.ok()) {
      ASSERT_EQ(encode_packet(*packet), bytes);
    }
  }
}

}  // namespace
}  // namespace muster
