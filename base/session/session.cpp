// Go-back-N over incarnations: nothing out of order is kept; the receiver says where it stands and
// the sender starts again there. On the links we have, order only breaks when a connection does.
#include "base/session/session.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr unsigned kSilencesMax = 3;

Error lie(const char* what) { return fail(ErrorCode::kCorrupt, std::string("session: ") + what); }

}  // namespace

Session::Session(std::uint64_t incarnation, SessionLimits limits)
    : limits_(limits), own_(incarnation) {
  MUSTER_ASSERT(incarnation != 0);
}

Result<void> Session::send(std::string payload) {
  if (peer_ == 0) return fail(ErrorCode::kUnavailable, "session: no peer yet");
  const std::size_t parts =
      std::max<std::size_t>(1, (payload.size() + kPacketPayloadMax - 1) / kPacketPayloadMax);
  if (payload.size() > limits_.payload_max)
    return fail(ErrorCode::kLimit, "session: message too large");
  if (payload.size() + queue_bytes_ > limits_.queue_bytes_max ||
      parts + queue_.size() > limits_.queue_parts_max) {
    return fail(ErrorCode::kLimit, "session: queue to the peer is full");
  }
  queue_bytes_ += payload.size();
  if (parts == 1) {
    queue_.push_back({std::move(payload), false});
    return {};
  }
  for (std::size_t at = 0; at < payload.size(); at += kPacketPayloadMax) {
    queue_.push_back(
        {payload.substr(at, kPacketPayloadMax), at + kPacketPayloadMax < payload.size()});
  }
  return {};
}

std::vector<std::string> Session::take_outgoing(Instant now) {
  std::vector<std::string> out;
  if (repeat_at_ && now >= *repeat_at_) {
    silences_ = std::min(silences_ + 1, kSilencesMax);
    if (peer_ == 0) hello_owed_ = true;
    rewind();
  }
  if (hello_owed_) out.push_back(packet_of(PacketKind::kHello, 0, {}));
  if (gap_owed_) out.push_back(packet_of(PacketKind::kGap, 0, {}));
  if (!out.empty()) ack_owed_ = false;
  append_parts(out);
  if (ack_owed_) out.push_back(packet_of(PacketKind::kAck, 0, {}));
  const bool answer_expected = in_flight_ > 0 || (peer_ == 0 && hello_owed_);
  if (answer_expected && !repeat_at_)
    repeat_at_ = now + limits_.resend_after * (std::int64_t{1} << silences_);
  hello_owed_ = gap_owed_ = ack_owed_ = false;
  return out;
}

void Session::append_parts(std::vector<std::string>& out) {
  while (in_flight_ < queue_.size() && in_flight_ < limits_.flight_parts_max) {
    const Part& part = queue_[in_flight_];
    if (in_flight_ > 0 && flight_bytes_ + part.bytes.size() > limits_.flight_bytes_max) return;
    ++in_flight_;
    flight_bytes_ += part.bytes.size();
    const std::uint64_t seq = acked_ + in_flight_;
    sent_max_ = std::max(sent_max_, seq);
    out.push_back(
        packet_of(part.more ? PacketKind::kDataMore : PacketKind::kData, seq, part.bytes));
    ack_owed_ = false;
  }
}

std::string Session::packet_of(PacketKind kind, std::uint64_t seq, std::string_view payload) const {
  return encode_packet({kind, own_, peer_, seq, received_, payload});
}

Result<void> Session::check(const Packet& packet) const {
  if (packet.from < peer_)
    return fail(ErrorCode::kConflict, "session: an earlier incarnation of the peer speaks");
  if (packet.to > own_)
    return fail(ErrorCode::kConflict, "session: the peer knows a later incarnation of this side");
  if (packet.to != own_) return {};
  const bool is_known = packet.from == peer_;
  if (packet.ack > (is_known ? sent_max_ : 0)) return lie("acknowledges what was never sent");
  const bool is_next = packet.seq == (is_known ? received_ : 0) + 1;
  const std::size_t begun = is_known ? partial_.size() : 0;
  if (is_next && begun + packet.payload.size() > limits_.payload_max) {
    return fail(ErrorCode::kLimit, "session: message of the peer is too large");
  }
  return {};
}

Result<Received> Session::receive(std::string_view bytes) {
  const Result<Packet> packet = decode_packet(bytes);
  if (!packet) return packet.error();
  const Result<void> checked = check(*packet);
  if (!checked) return checked.error();
  Received received;
  if (packet->from > peer_) {
    meet(packet->from);
    received.fresh = true;
  }
  if (packet->to != own_) {
    hello_owed_ = true;
    return received;
  }
  acknowledge(packet->ack);
  switch (packet->kind) {
    case PacketKind::kHello:
      rewind();
      ack_owed_ = true;
      break;
    case PacketKind::kAck:
      break;
    case PacketKind::kGap:
      // One gap is reported by every packet behind it; repeating once is enough, and the timer is
      // there for the rest.
      if (rewound_at_ != acked_ + 1) {
        rewound_at_ = acked_ + 1;
        rewind();
      }
      break;
    case PacketKind::kData:
    case PacketKind::kDataMore:
      take_data(*packet, received.payloads);
      break;
  }
  return received;
}

void Session::meet(std::uint64_t incarnation) {
  peer_ = incarnation;
  queue_.clear();
  queue_bytes_ = 0;
  acked_ = sent_max_ = rewound_at_ = received_ = 0;
  partial_.clear();
  silences_ = 0;
  ack_owed_ = gap_owed_ = false;
  rewind();
}

void Session::acknowledge(std::uint64_t ack) {
  if (ack <= acked_) return;
  for (; acked_ < ack; ++acked_) {
    const std::size_t size = queue_.front().bytes.size();
    queue_bytes_ -= size;
    if (in_flight_ > 0) {
      --in_flight_;
      flight_bytes_ -= size;
    }
    queue_.pop_front();
  }
  silences_ = 0;
  repeat_at_.reset();
}

void Session::take_data(const Packet& packet, std::vector<std::string>& payloads) {
  if (packet.seq > received_ + 1) {
    gap_owed_ = true;
    return;
  }
  ack_owed_ = true;
  if (packet.seq <= received_) return;
  received_ = packet.seq;
  partial_ += packet.payload;
  if (packet.kind == PacketKind::kDataMore) return;
  payloads.push_back(std::move(partial_));
  partial_.clear();
}

void Session::rewind() {
  in_flight_ = 0;
  flight_bytes_ = 0;
  repeat_at_.reset();
}

void Session::reconnect() {
  hello_owed_ = true;
  silences_ = 0;
}

}  // namespace muster
