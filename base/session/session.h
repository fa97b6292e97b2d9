// One end of a session between two peers: what is sent arrives exactly once and in order, as long
// as both incarnations live, whatever the link below loses, repeats or reorders. When the peer is a
// new incarnation everything not yet acknowledged is dropped and numbering starts anew: the
// application then says its whole state again.
//
// The higher incarnation is the newer one: a controller uses its epoch, a worker a number that
// rises with every start. How to drive it: give every packet that arrives to receive(); send what
// take_outgoing() returns after every receive(), send() and at wake_at(). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/session/packet.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct SessionLimits {
  std::size_t queue_bytes_max = 16U << 20U;  // Not yet acknowledged payload.
  std::size_t queue_parts_max = 65536;       // Packets it makes.
  std::size_t payload_max = 8U << 20U;       // Of one message, in both directions.
  std::size_t flight_bytes_max = 4U << 20U;  // Sent and not yet acknowledged.
  std::size_t flight_parts_max = 2048;
  Duration resend_after =
      seconds(2);  // Doubles up to eight times that while nothing is acknowledged.
};

// What one packet brought. `fresh` comes before `payloads`: the peer is another incarnation than
// the last one, so what was queued for that one is gone.
struct Received {
  bool fresh = false;
  std::vector<std::string> payloads;
};

class Session {
 public:
  // incarnation must not be 0.
  explicit Session(std::uint64_t incarnation, SessionLimits limits = {});

  // kUnavailable while no peer is known, kLimit when the queue is full or the payload too large;
  // then nothing was queued.
  Result<void> send(std::string payload);

  // Packets to put on the link now, in this order: new ones, those to be repeated,
  // acknowledgements. Empty when there is nothing to say.
  std::vector<std::string> take_outgoing(Instant now);

  // kCorrupt: not a packet, or one that lies; kConflict: an earlier incarnation of the peer speaks,
  // or the peer knows a later one of us; kLimit: a payload over payload_max, the peer should be
  // given up. The packet is then ignored and nothing changed.
  Result<Received> receive(std::string_view packet);

  // The link below was made anew: says hello, so that both sides repeat at once what got lost. The
  // side that connects also calls this once at the start; the other side only answers.
  void reconnect();

  // When take_outgoing() has something to say next without a receive() or send(); none: never.
  std::optional<Instant> wake_at() const { return repeat_at_; }

  bool knows_peer() const { return peer_ != 0; }
  std::uint64_t peer_incarnation() const { return peer_; }  // 0: none known.
  std::uint64_t incarnation() const { return own_; }
  std::size_t queued_bytes() const { return queue_bytes_; }
  std::size_t queued_parts() const { return queue_.size(); }
  bool is_idle() const { return queue_.empty(); }  // All that was sent has been acknowledged.

 private:
  struct Part {
    std::string bytes;
    bool more = false;
  };

  void meet(std::uint64_t incarnation);
  Result<void> check(const Packet& packet) const;
  void acknowledge(std::uint64_t ack);
  void take_data(const Packet& packet, std::vector<std::string>& payloads);
  void rewind();
  void append_parts(std::vector<std::string>& out);
  std::string packet_of(PacketKind kind, std::uint64_t seq, std::string_view payload) const;

  SessionLimits limits_;
  std::uint64_t own_;
  std::uint64_t peer_ = 0;

  std::deque<Part> queue_;  // Not acknowledged; the front has number acked_ + 1.
  std::size_t queue_bytes_ = 0;
  std::uint64_t acked_ = 0;     // Highest number the peer has.
  std::uint64_t sent_max_ = 0;  // Highest number ever put on the link.
  std::size_t in_flight_ = 0;   // The first so many of queue_ are on their way.
  std::size_t flight_bytes_ = 0;
  std::uint64_t rewound_at_ = 0;  // acked_ + 1 when a gap was last answered: once is enough.
  unsigned silences_ = 0;         // Resends since the last progress.

  std::uint64_t received_ = 0;  // Highest number received in order.
  std::string partial_;         // Parts of a payload whose end is still to come.

  bool hello_owed_ = false;
  bool ack_owed_ = false;
  bool gap_owed_ = false;
  std::optional<Instant> repeat_at_;  // Of what is in flight, or of a hello nobody answered.
};

}  // namespace muster
