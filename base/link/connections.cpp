// Looks after the descriptors of a server socket's connections.
#include "base/link/connections.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/link/native.h"

namespace muster::link {
namespace {

constexpr std::int64_t kHandshakeMs = 2500;         // Longer than HANDSHAKE_IVL.
constexpr std::uint64_t kFrameOverhead = 64;        // More than CURVE and ZMTP add to a frame.
constexpr std::uint64_t kIdleBytesPerSecond = 128;  // More than heartbeats take.

struct PeerName {
  std::string peer;
  std::string address;
};

PeerName peer_name(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  std::uint16_t port = 0;
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    port = ntohs(v4->sin_port);
  } else if (storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    port = ntohs(v6->sin6_port);
  }
  return {std::string(text.data()) + ":" + std::to_string(port), text.data()};
}

std::uint64_t bytes_received(int fd) {
  tcp_info facts{};
  socklen_t size = sizeof facts;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &facts, &size) != 0) return 0;
  if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof facts.tcpi_bytes_received) return 0;
  return facts.tcpi_bytes_received;
}

}  // namespace

void Connections::accepted(int fd, std::int64_t now_ms) {
  closed(fd);
  const PeerName name = peer_name(fd);
  Connection& connection = connections_[fd];
  connection.peer = name.peer;
  connection.address = name.address;
  connection.opened_ms = now_ms;
  PerAddress& address = addresses_[name.address];
  ++address.open;
  ++address.silent;
  if (address.open > limits_.per_address_max) end(fd, connection, "too many from its address");
  if (address.silent > limits_.handshakes_per_address_max) {
    end(fd, connection, "too many unfinished handshakes from its address");
  }
}

void Connections::closed(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  const auto address = addresses_.find(found->second.address);
  if (address != addresses_.end()) {
    if (found->second.identity.empty() && address->second.silent > 0) --address->second.silent;
    if (--address->second.open == 0) addresses_.erase(address);
  }
  connections_.erase(found);
}

bool Connections::delivered(int fd, std::size_t bytes, std::string_view identity) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return false;
  Connection& connection = found->second;
  connection.delivered += bytes + kFrameOverhead;
  if (connection.identity.empty()) {
    const auto address = addresses_.find(connection.address);
    if (address != addresses_.end() && address->second.silent > 0) --address->second.silent;
  }
  if (connection.identity != identity) connection.identity = identity;
  return true;
}

void Connections::cut(int fd, std::string_view why) {
  const auto found = connections_.find(fd);
  if (found != connections_.end()) end(fd, found->second, why);
}

void Connections::end(int fd, Connection& connection, std::string_view why) {
  if (connection.is_cut) return;
  connection.is_cut = true;
  ++cuts_;
  // The descriptor is libzmq's: it may have been closed and given to something else since.
  if (!connection.peer.empty() && peer_name(fd).peer == connection.peer) shutdown(fd, SHUT_RDWR);
  const std::int64_t now_ms = clock_ms();
  if (!log_ || now_ms < logged_ms_ + 1000) return;
  logged_ms_ = now_ms;
  const std::string who = connection.identity.substr(0, connection.identity.find(' '));
  log_("link: cut the connection of " + (who.empty() ? "a stranger" : who) + " at " +
       connection.peer + ": " + std::string(why));
}

void Connections::sweep(std::int64_t now_ms) {
  const auto every = std::max<std::int64_t>(100, static_cast<std::int64_t>(count() / 10));
  if (now_ms < swept_ms_ + every) return;
  swept_ms_ = now_ms;
  count_silent(now_ms);
  for (auto& [fd, connection] : connections_) {
    if (connection.is_cut) continue;
    const std::uint64_t received = bytes_received(fd);
    const auto age = static_cast<std::uint64_t>(now_ms - connection.opened_ms);
    const std::uint64_t idle = age / 1000 * kIdleBytesPerSecond;
    connection.delivered = std::min(connection.delivered, received);
    if (received > connection.delivered + idle + limits_.pending_bytes_max) {
      end(fd, connection, "it sends without end");
    }
  }
}

void Connections::count_silent(std::int64_t now_ms) {
  for (auto& [address, counts] : addresses_) counts.silent = 0;
  for (const auto& [fd, connection] : connections_) {
    if (!connection.identity.empty() || now_ms - connection.opened_ms > kHandshakeMs) continue;
    ++addresses_[connection.address].silent;
  }
}

void Connections::cut_unless(const std::function<bool(std::string_view)>& is_admitted) {
  for (auto& [fd, connection] : connections_) {
    if (connection.identity.empty() || is_admitted(connection.identity)) continue;
    end(fd, connection, "its key was withdrawn");
  }
}

}  // namespace muster::link
