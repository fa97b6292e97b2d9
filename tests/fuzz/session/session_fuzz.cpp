// Any packets at all, in any order: a session refuses them or stays within its limits, and goes on
// working.
#include <cstdint>
#include <string_view>

#include "base/session/session.h"

namespace {

constexpr std::size_t kQueueMax = 4096;

muster::SessionLimits small_limits() {
  muster::SessionLimits limits;
  limits.queue_bytes_max = kQueueMax;
  limits.queue_parts_max = 16;
  limits.payload_max = 1024;
  return limits;
}

}  // namespace

// The input is a list of packets, each a length byte and so many bytes; every third step something
// is sent.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  muster::Session session(5, small_limits());
  muster::Instant now;
  for (std::size_t step = 0; !rest.empty(); ++step) {
    const auto length = static_cast<unsigned char>(rest.front());
    const std::string_view packet = rest.substr(1, length);
    rest.remove_prefix(1 + packet.size());
    const auto decoded = muster::decode_packet(packet);
    MUSTER_ASSERT(!decoded.ok() || muster::encode_packet(*decoded) == packet);
    const std::uint64_t peer = session.peer_incarnation();
    const auto received = session.receive(packet);
    MUSTER_ASSERT(session.peer_incarnation() >= peer);
    MUSTER_ASSERT(!received.ok() || decoded.ok());
    if (step % 3 == 0) (void)session.send("a message");
    for (const auto& out : session.take_outgoing(now))
      MUSTER_ASSERT(muster::decode_packet(out).ok());
    MUSTER_ASSERT(session.queued_bytes() <= kQueueMax && session.queued_parts() <= 16);
    now = now + muster::seconds(1);
  }
  return 0;
}
