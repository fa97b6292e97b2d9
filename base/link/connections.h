// The TCP connections behind a server socket. libzmq bounds neither their number nor what an
// unfinished multipart message takes, and cannot end one; the kernel can tell and do both, so this
// watches them by descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace muster::link {

struct ConnectionLimits {
  std::uint32_t per_address_max = 20000;
  std::uint32_t handshakes_per_address_max = 1024;  // Young ones that have said nothing yet.
  std::size_t pending_bytes_max = 64U << 20U;       // Received by the kernel, not delivered to us.
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

  // Cuts what holds too much undelivered, and whoever is_admitted says no to. Cheap when called too
  // early.
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
    bool is_cut = false;
  };
  struct PerAddress {
    std::uint32_t open = 0;
    std::uint32_t silent = 0;  // Accepted and not heard of; an estimate that sweep() mends.
  };
  void end(int fd, Connection& connection, std::string_view why);
  void count_silent(std::int64_t now_ms);

  ConnectionLimits limits_;
  Log log_;
  std::map<int, Connection> connections_;
  std::map<std::string, PerAddress> addresses_;
  std::int64_t swept_ms_ = 0;
  std::int64_t logged_ms_ = 0;
  std::uint64_t cuts_ = 0;
};

}  // namespace muster::link
