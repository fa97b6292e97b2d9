// The envelope of one packet of a session: a fixed little-endian header, then payload bytes.
//
//   "MS" · version (1) · kind (1) · sender's incarnation (8) · receiver's incarnation as the sender
//   knows it, 0 for unknown (8) · sequence number (8) · acknowledgement (8) · payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

constexpr std::uint8_t kSessionVersion = 1;
constexpr std::size_t kPacketHeaderBytes = 36;
constexpr std::size_t kPacketPayloadMax = 256U
                                          << 10U;  // A larger payload travels in several packets.

enum class PacketKind : std::uint8_t {
  kHello,     // Says who I am, whom I know, what I have. Carries no payload.
  kAck,       // Only the acknowledgement counts.
  kGap,       // As kAck, and what follows the acknowledged number got lost.
  kData,      // The last, or only, part of a payload.
  kDataMore,  // A part of a payload; the next number continues it.
};

struct Packet {
  PacketKind kind = PacketKind::kHello;
  std::uint64_t from = 0;  // Never 0.
  std::uint64_t to = 0;
  std::uint64_t seq = 0;  // 1… for data, 0 otherwise.
  std::uint64_t ack = 0;  // Highest number received in order, of the stream from `to` to `from`.
  std::string_view payload;
};

std::string encode_packet(const Packet& packet);
// kCorrupt for anything encode_packet() would not write. payload points into bytes.
Result<Packet> decode_packet(std::string_view bytes);

}  // namespace muster
