// Taking and holding ports.
#include "worker/launcher/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace muster {
namespace {

Fd hold(std::uint16_t port) {
  Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  const bool has_six = socket.is_open();
  if (!has_six) socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const auto* address =
      has_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  const socklen_t size = has_six ? sizeof(six) : sizeof(four);
  if (::bind(socket.number(), address, size) != 0) socket.reset();
  return socket;
}

}  // namespace

Result<std::vector<HeldPort>> PortLedger::take(std::size_t count) {
  std::vector<HeldPort> held;
  const int width = last_ - first_ + 1;
  for (int tried = 0; tried < width && held.size() < count; ++tried) {
    const std::uint16_t port = next_;
    next_ = port == last_ ? first_ : static_cast<std::uint16_t>(port + 1);
    if (taken_.count(port) != 0) continue;
    Fd socket = hold(port);
    if (socket.is_open()) held.push_back({port, std::move(socket)});
  }
  if (held.size() < count) {
    return fail(ErrorCode::kLimit, "ports: not enough free in " + std::to_string(first_) + "-" +
                                       std::to_string(last_));
  }
  for (const HeldPort& one : held) taken_.insert(one.port);
  return held;
}

void PortLedger::give_back(const std::vector<std::uint16_t>& ports) {
  for (const std::uint16_t port : ports) taken_.erase(port);
}

}  // namespace muster
