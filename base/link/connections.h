// The TCP connections behind a server socket. libzmq bounds neither their number nor what an
// unfinished multipart message takes, and cannot end one; the kernel can tell and do both, so this
// watches them by descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::link {

struct ConnectionLimits {
  std::uint32_t per_address_max = 20000;
  // Young ones that have said nothing yet. Few: handshakes that share a processor all end late, and
  // those that end after HANDSHAKE_IVL were for nothing.
  std::uint32_t handshakes_per_address_max = 96;
  std::uint32_t handshakes_max = 2048;
  std::uint32_t per_identity_max = 8;          // Then the oldest goes.
  std::size_t pending_bytes_max = 64U << 20U;  // Received by the kernel, not delivered to us.
  std::size_t pending_bytes_total_max = 512U << 20U;  // Of all together; then the largest go.
};

class Connections {
 public:
  using Log = std::function<void(const std::string& line)>;
  Connections(ConnectionLimits limits, Log log) : limits_(limits), log_(std::move(log)) {}

  void accepted(int fd, std::int64_t now_ms);  // Cuts it at once when there are too many.
  void closed(int fd);
  // A frame came out of the connection: its size, and the User-Id (with key) it carried. False when
  // the connection is not known (yet).
  bool delivered(int fd, std::size_t bytes, std::string_view identity);
  void cut(int fd, std::string_view why);
  void note_drained() { is_drained_ = true; }  // All that was delivered has been taken.

  // Cuts what has not said who it is in time, what holds too much undelivered, and whoever
  // is_admitted says no to. Cheap when called too early.
  void sweep(std::int64_t now_ms);
  void cut_unless(const std::function<bool(std::string_view identity)>& is_admitted);

  std::size_t count() const { return connections_.size(); }
  std::uint64_t cuts() const { return cuts_; }

 private:
  struct Connection {
    std::string peer;  // Address and port as the kernel has it: guards against a reused descriptor.
    std::string address;  // Without the port.
    std::string identity;
    std::int64_t opened_ms = 0;
    std::uint64_t delivered = 0;
    int silent_rounds = 0;  // Sweeps past its time without a word.
    bool is_cut = false;
  };
  struct PerAddress {
    std::uint32_t open = 0;
    std::uint32_t silent = 0;  // Accepted and not heard of; an estimate that sweep() mends.
    std::deque<int> young;     // The same, oldest first; some may have spoken or ended since.
  };
  void end(int fd, Connection& connection, std::string_view why);
  void count_silent(std::int64_t now_ms);
  bool is_young(int fd, std::int64_t now_ms) const;
  void make_room(int fd, PerAddress& address, std::int64_t now_ms);
  void recognise(int fd, Connection& connection, std::string_view identity);
  void check_silence(int fd, Connection& connection, std::int64_t now_ms);
  void check_total();

  ConnectionLimits limits_;
  Log log_;
  std::map<int, Connection> connections_;
  std::map<std::string, PerAddress> addresses_;
  std::map<std::string, std::uint32_t, std::less<>> identities_;  // How many connections each has.
  std::vector<std::pair<std::uint64_t, int>> pending_;  // Of the last sweep: bytes, descriptor.
  std::uint32_t silent_ = 0;                            // Of all addresses.
  bool is_drained_ = false;
  std::int64_t swept_ms_ = 0;
  std::int64_t logged_ms_ = 0;
  std::uint64_t cuts_ = 0;
};

}  // namespace muster::link
