// systemd's notification protocol: a datagram to the socket in NOTIFY_SOCKET (sd_notify(3)).
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/daemon/daemon.h"
#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

void notify(const std::string& text) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  const std::size_t size = std::strlen(path);
  if (size >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';  // An abstract name.
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  sendto(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), length);
  close(fd);
}

std::string status_line(std::string_view status) {
  return "STATUS=" + escape_for_terminal(status) + "\n";
}

}  // namespace

void notify_ready(std::string_view status) {
  notify("READY=1\nMAINPID=" + std::to_string(getpid()) + "\n" + status_line(status));
}

void notify_status(std::string_view status) { notify(status_line(status)); }
void notify_stopping() { notify("STOPPING=1\n"); }
void notify_watchdog() { notify("WATCHDOG=1\n"); }

std::optional<Duration> watchdog_interval() {
  const char* const us = std::getenv("WATCHDOG_USEC");
  const char* const pid = std::getenv("WATCHDOG_PID");
  if (us == nullptr) return std::nullopt;
  if (pid != nullptr && std::to_string(getpid()) != pid) return std::nullopt;
  const auto parsed = parse_count(us, 2, INT64_MAX);
  if (!parsed) return std::nullopt;
  return microseconds(static_cast<std::int64_t>(*parsed / 2));
}

}  // namespace muster
