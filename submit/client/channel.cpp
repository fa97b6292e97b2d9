// The Unix stream socket of a client.
#include "submit/client/channel.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/types/text.h"

namespace muster::client {
namespace {

constexpr std::size_t kReadBytes = 64U << 10U;
constexpr std::size_t kReadsPerCall = 16;

std::string errno_text() { return std::generic_category().message(errno); }

}  // namespace

Result<void> check_socket_path(const std::string& path) {
  constexpr std::size_t kPathMax = sizeof(sockaddr_un{}.sun_path) - 1;
  if (path.empty()) return fail(ErrorCode::kInvalid, "the path of the gateway's socket is empty");
  if (path.size() <= kPathMax) return {};
  return fail(ErrorCode::kInvalid, "the gateway's socket \"" + escape_for_terminal(path) +
                                       "\" has a path of " + std::to_string(path.size()) +
                                       " bytes; a socket can have " + std::to_string(kPathMax) +
                                       ": choose a shorter directory");
}

Channel::~Channel() { close(); }

void Channel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  parser_ = FrameParser();
  out_.clear();
  out_at_ = 0;
}

Result<void> Channel::open(const std::string& path) {
  close();
  if (auto checked = check_socket_path(path); !checked) return checked.error();
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return fail(ErrorCode::kUnavailable, "socket: " + errno_text());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  const int why = errno;
  close();
  const ErrorCode code = why == EACCES || why == EPERM || why == ENOTSOCK ? ErrorCode::kInvalid
                                                                          : ErrorCode::kUnavailable;
  return fail(code, "no gateway at " + escape_for_terminal(path) + ": " +
                        std::generic_category().message(why));
}

void Channel::queue(std::string_view message) {
  if (out_at_ == out_.size()) {
    out_.clear();
    out_at_ = 0;
  }
  append_frames(message, id_next_++, out_);
}

Result<void> Channel::write_some() {
  while (wants_to_write()) {
    const ssize_t n =
        send(fd_, out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) {
      // What it said before it went away is still to be read.
      if (errno == EPIPE || errno == ECONNRESET) {
        out_.clear();
        out_at_ = 0;
        return {};
      }
      const Error error = fail(ErrorCode::kUnavailable, "gateway: " + errno_text());
      close();
      return error;
    }
    out_at_ += static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> Channel::read_some(std::vector<std::string>& messages) {
  std::array<char, kReadBytes> buffer;
  for (std::size_t reads = 0; reads < kReadsPerCall; ++reads) {
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n <= 0) {
      const Error error = fail(ErrorCode::kUnavailable, n == 0 ? "the gateway closed the connection"
                                                               : "gateway: " + errno_text());
      close();
      return error;
    }
    const auto size = static_cast<std::size_t>(n);
    auto pushed = parser_.push({buffer.data(), size}, messages);
    if (!pushed) {
      close();
      return fail(ErrorCode::kCorrupt, "gateway: " + pushed.error().message);
    }
    if (size < buffer.size()) return {};
  }
  return {};
}

}  // namespace muster::client
