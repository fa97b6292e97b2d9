// Packets of a session as bytes.
#include "base/session/packet.h"

namespace muster {
namespace {

void put64(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i, value >>= 8U) out.push_back(static_cast<char>(value & 0xffU));
}

std::uint64_t take64(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i > 0; --i) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

bool is_data(PacketKind kind) { return kind == PacketKind::kData || kind == PacketKind::kDataMore; }

// True when the parts of the packet do not contradict each other.
bool is_sound(const Packet& packet) {
  if (packet.from == 0 || packet.payload.size() > kPacketPayloadMax) return false;
  if (packet.to == 0 && packet.ack != 0) return false;
  if (!is_data(packet.kind)) return packet.seq == 0 && packet.payload.empty();
  if (packet.kind == PacketKind::kDataMore && packet.payload.empty()) return false;
  return packet.seq != 0 && packet.to != 0;
}

}  // namespace

std::string encode_packet(const Packet& packet) {
  MUSTER_ASSERT(is_sound(packet));
  std::string out;
  out.reserve(kPacketHeaderBytes + packet.payload.size());
  out += "MS";
  out.push_back(static_cast<char>(kSessionVersion));
  out.push_back(static_cast<char>(packet.kind));
  put64(out, packet.from);
  put64(out, packet.to);
  put64(out, packet.seq);
  put64(out, packet.ack);
  out += packet.payload;
  return out;
}

Result<Packet> decode_packet(std::string_view bytes) {
  if (bytes.size() < kPacketHeaderBytes || bytes.substr(0, 2) != "MS") {
    return fail(ErrorCode::kCorrupt, "session: not a packet");
  }
  const auto version = static_cast<unsigned char>(bytes[2]);
  if (version != kSessionVersion) {
    return fail(ErrorCode::kCorrupt,
                "session: version " + std::to_string(version) + " is not known here");
  }
  const auto kind = static_cast<unsigned char>(bytes[3]);
  if (kind > static_cast<unsigned char>(PacketKind::kDataMore)) {
    return fail(ErrorCode::kCorrupt, "session: unknown kind of packet");
  }
  Packet packet;
  packet.kind = static_cast<PacketKind>(kind);
  packet.from = take64(bytes, 4);
  packet.to = take64(bytes, 12);
  packet.seq = take64(bytes, 20);
  packet.ack = take64(bytes, 28);
  packet.payload = bytes.substr(kPacketHeaderBytes);
  if (!is_sound(packet)) return fail(ErrorCode::kCorrupt, "session: contradictory packet");
  return packet;
}

}  // namespace muster
