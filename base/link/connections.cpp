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

constexpr std::int64_t kIdleHandshakeMs = 500;  // Many times what one takes.
constexpr std::int64_t kHandshakeMs = 2500;     // Longer than HANDSHAKE_IVL.
constexpr std::int64_t kGreetingMs = 5000;      // For the first word of a connection.
constexpr int kSilentRoundsMax = 5;
constexpr std::uint64_t kPendingWorthCutting = 1U << 20U;
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
  ++silent_;
  if (address.open > limits_.per_address_max) end(fd, connection, "too many from its address");
  address.young.push_back(fd);
  if (address.silent > limits_.handshakes_per_address_max || silent_ > limits_.handshakes_max) {
    make_room(fd, address, now_ms);
  }
}

// Ends the oldest unfinished handshake of the address if it only idles, else the one that has just
// begun: whoever is at work shall finish.
void Connections::make_room(int fd, PerAddress& address, std::int64_t now_ms) {
  while (!address.young.empty()) {
    const int oldest = address.young.front();
    const auto found = connections_.find(oldest);
    const bool is_over =
        found == connections_.end() || found->second.is_cut || !found->second.identity.empty();
    if (!is_over && (oldest == fd || now_ms - found->second.opened_ms < kIdleHandshakeMs)) break;
    address.young.pop_front();
    if (is_over) continue;
    --address.silent;
    --silent_;
    return end(oldest, found->second, "it idles in a handshake");
  }
  cut(fd, "too many unfinished handshakes at once");
}

void Connections::closed(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  recognise(fd, found->second, "");
  const auto address = addresses_.find(found->second.address);
  if (address != addresses_.end() && --address->second.open == 0) addresses_.erase(address);
  connections_.erase(found);
}

bool Connections::delivered(int fd, std::size_t bytes, std::string_view identity) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return false;
  Connection& connection = found->second;
  connection.delivered += bytes + kFrameOverhead;
  if (connection.identity != identity) recognise(fd, connection, identity);
  return true;
}

void Connections::recognise(int fd, Connection& connection, std::string_view identity) {
  if (connection.identity.empty()) {
    const auto address = addresses_.find(connection.address);
    if (address != addresses_.end() && address->second.silent > 0) --address->second.silent;
    if (silent_ > 0) --silent_;
  } else if (const auto old = identities_.find(connection.identity); old != identities_.end()) {
    if (--old->second == 0) identities_.erase(old);
  }
  connection.identity = identity;
  if (identity.empty() || ++identities_[connection.identity] <= limits_.per_identity_max) return;
  auto oldest = connections_.find(fd);
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    const bool is_older = at->second.opened_ms < oldest->second.opened_ms;
    if (at->second.identity == identity && is_older && !at->second.is_cut) oldest = at;
  }
  end(oldest->first, oldest->second, "its key has too many");
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
  const std::int64_t passed = now_ms - swept_ms_;
  swept_ms_ = now_ms;
  const std::uint64_t idle_bytes =
      static_cast<std::uint64_t>(std::min<std::int64_t>(passed, 60000)) * kIdleBytesPerSecond /
          1000 +
      1;
  count_silent(now_ms);
  pending_.clear();
  for (auto& [fd, connection] : connections_) {
    if (connection.is_cut) continue;
    const std::uint64_t received = bytes_received(fd);
    connection.delivered = std::min(connection.delivered + idle_bytes, received);
    const std::uint64_t pending = received - connection.delivered;
    if (pending > limits_.pending_bytes_max) {
      end(fd, connection, "it sends without end");
    } else if (pending > kPendingWorthCutting) {
      pending_.emplace_back(pending, fd);
    }
    check_silence(fd, connection, now_ms);
  }
  check_total();
  is_drained_ = false;
}

// Our clients greet as soon as they may. Whoever does not holds a place without a name.
void Connections::check_silence(int fd, Connection& connection, std::int64_t now_ms) {
  const bool is_late = now_ms - connection.opened_ms > kGreetingMs;
  if (!connection.identity.empty() || !is_late || !is_drained_) return;
  if (++connection.silent_rounds >= kSilentRoundsMax) end(fd, connection, "it does not say a word");
}

void Connections::check_total() {
  std::uint64_t total = 0;
  for (const auto& [pending, fd] : pending_) total += pending;
  if (total <= limits_.pending_bytes_total_max) return;
  std::sort(pending_.rbegin(), pending_.rend());
  for (const auto& [pending, fd] : pending_) {
    if (total <= limits_.pending_bytes_total_max) return;
    total -= pending;
    cut(fd, "all together send more than is taken");
  }
}

bool Connections::is_young(int fd, std::int64_t now_ms) const {
  const auto found = connections_.find(fd);
  return found != connections_.end() && found->second.identity.empty() && !found->second.is_cut &&
         now_ms - found->second.opened_ms <= kHandshakeMs;
}

void Connections::count_silent(std::int64_t now_ms) {
  silent_ = 0;
  for (auto& [address, counts] : addresses_) {
    counts.silent = 0;
    while (!counts.young.empty() && !is_young(counts.young.front(), now_ms)) {
      counts.young.pop_front();
    }
  }
  for (const auto& [fd, connection] : connections_) {
    if (!is_young(fd, now_ms)) continue;
    ++addresses_[connection.address].silent;
    ++silent_;
  }
}

void Connections::cut_unless(const std::function<bool(std::string_view)>& is_admitted) {
  for (auto& [fd, connection] : connections_) {
    if (connection.identity.empty() || is_admitted(connection.identity)) continue;
    end(fd, connection, "its key was withdrawn");
  }
}

}  // namespace muster::link
