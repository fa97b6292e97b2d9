// The Unix socket users connect to.
#include "submit/gateway/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::size_t kPathMax = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr std::uint32_t kNobody = 65534;
constexpr int kBacklog = 1024;

std::string errno_text() { return std::generic_category().message(errno); }

Error socket_error(ErrorCode code, const std::string& path, const std::string& why) {
  return fail(code, "socket " + escape_for_terminal(path) + ": " + why);
}

Uid read_overflow_uid() {
  std::ifstream file("/proc/sys/kernel/overflowuid");
  std::uint32_t uid = kNobody;
  file >> uid;
  return {file ? uid : kNobody};
}

// Removes what a dead gateway left; anything that is not a socket stays and is an error.
Result<void> clear_path(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return {};
  if (!S_ISSOCK(facts.st_mode)) {
    return socket_error(ErrorCode::kConflict, path, "there is something else of that name");
  }
  if (unlink(path.c_str()) != 0) return socket_error(ErrorCode::kUnavailable, path, errno_text());
  return {};
}

Result<int> bind_at(const std::string& path, std::uint32_t mode) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return socket_error(ErrorCode::kUnavailable, path, errno_text());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(fd, kBacklog) != 0) {
    const ErrorCode code = errno == ENOENT || errno == ENOTDIR || errno == EACCES
                               ? ErrorCode::kInvalid
                               : ErrorCode::kUnavailable;
    const Error error = socket_error(code, path, errno_text());
    close(fd);
    return error;
  }
  return fd;
}

}  // namespace

Result<void> check_uid(Uid uid, Uid overflow_uid) {
  if (uid == overflow_uid || uid.value == kNobody) {
    return fail(ErrorCode::kInvalid,
                "you are nobody here: your user is not mapped into this system's user namespace");
  }
  if (uid.value == UINT32_MAX) return fail(ErrorCode::kInvalid, "the kernel names no user for you");
  return {};
}

Result<Credentials> peer_credentials(int fd) {
  static const Uid overflow_uid = read_overflow_uid();
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer) {
    return fail(ErrorCode::kInvalid, "the kernel does not say who you are: " + errno_text());
  }
  if (auto checked = check_uid({peer.uid}, overflow_uid); !checked) return checked.error();
  return Credentials{{peer.uid}, {peer.gid}, peer.pid};
}

Result<Listener> Listener::open(const std::string& path, std::uint32_t mode) {
  if (path.empty() || path.size() > kPathMax) {
    return fail(ErrorCode::kInvalid, "socket \"" + escape_for_terminal(path) + "\": a path of " +
                                         std::to_string(path.size()) +
                                         " bytes, a socket takes 1 to " + std::to_string(kPathMax) +
                                         ": choose a shorter directory");
  }
  auto lock = PidFile::take(path + ".lock");
  if (!lock) {
    if (lock.error().code != ErrorCode::kConflict) return lock.error();
    return socket_error(ErrorCode::kConflict, path,
                        "another gateway serves it (" + lock.error().message + ")");
  }
  if (auto cleared = clear_path(path); !cleared) return cleared.error();
  auto fd = bind_at(path, mode);
  if (!fd) return fd.error();
  return Listener(path, *fd, std::move(*lock));
}

Listener::Listener(Listener&& other) noexcept
    : path_(std::move(other.path_)), fd_(other.fd_), lock_(std::move(other.lock_)) {
  other.fd_ = -1;
}

Listener::~Listener() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
}

Result<std::optional<Accepted>> Listener::accept_one() {
  for (;;) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) return std::optional<Accepted>(Accepted{fd, peer_credentials(fd)});
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return std::optional<Accepted>();
    return fail(ErrorCode::kLimit, "accept: " + errno_text());
  }
}

}  // namespace muster
