// Non-blocking frames over a Unix stream socket, descriptors by SCM_RIGHTS.
#include "base/order/local_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/order/descriptors.h"
#include "base/order/small_file.h"
#include "base/order/wire.h"

namespace muster {
namespace {

constexpr std::size_t kReadBytes = 64U << 10U;
constexpr std::size_t kFdsAtOnce = 16;
constexpr std::size_t kHeaderBytes = 4;
constexpr std::uint8_t kFdBit = 0x80;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kInvalid, "socket path is empty or longer than 107 bytes: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

LocalChannel::LocalChannel(Fd socket) : socket_(std::move(socket)) {
  const int flags = ::fcntl(socket_.number(), F_GETFL);
  ::fcntl(socket_.number(), F_SETFL, flags | O_NONBLOCK);
}

Result<void> LocalChannel::send(std::string frame, Fd attached) {
  queue_bytes_ += frame.size();
  queue_.push_back({std::move(frame), 0, std::move(attached)});
  if (queue_bytes_ > kLocalQueueBytesMax) {
    return fail(ErrorCode::kLimit, "local peer does not read what we send");
  }
  return flush();
}

Result<void> LocalChannel::flush() {
  while (!queue_.empty()) {
    Outgoing& out = queue_.front();
    std::vector<int> attached;
    if (out.attached.is_open()) attached.push_back(out.attached.number());
    const ssize_t sent =
        send_message(socket_.number(), std::string_view(out.bytes).substr(out.sent), attached);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (sent < 0) return failed("send to local peer");
    out.attached.reset();
    out.sent += static_cast<std::size_t>(sent);
    queue_bytes_ -= static_cast<std::size_t>(sent);
    if (out.sent == out.bytes.size()) queue_.pop_front();
  }
  return {};
}

// True while there may be more to read.
Result<bool> LocalChannel::read_some() {
  char buffer[kReadBytes];
  ReceivedMessage received = receive_message(socket_.number(), buffer, sizeof(buffer), 0);
  if (received.size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (received.size < 0) return failed("local peer");
  if (received.size == 0) return fail(ErrorCode::kUnavailable, "local peer closed the connection");
  for (Fd& fd : received.descriptors) input_fds_.push_back(std::move(fd));
  if (input_fds_.size() > kFdsAtOnce || received.is_cut) {
    return fail(ErrorCode::kCorrupt, "local peer sent too many descriptors");
  }
  input_.append(buffer, static_cast<std::size_t>(received.size));
  return true;
}

Result<void> LocalChannel::cut_frames(std::vector<ReceivedFrame>& frames) {
  std::size_t at = 0;
  while (frames.size() < kFramesAtOnce && input_.size() - at >= kHeaderBytes) {
    wire::Reader header(std::string_view(input_).substr(at, kHeaderBytes));
    std::uint32_t size = 0;
    header.number(size);
    if (size == 0 || size > kLocalFrameBytesMax) {
      return fail(ErrorCode::kCorrupt, "local peer sent a frame of impossible length");
    }
    if (input_.size() - at - kHeaderBytes < size) break;
    ReceivedFrame received;
    const auto type = static_cast<std::uint8_t>(input_[at + kHeaderBytes]);
    received.frame.type = static_cast<LocalType>(type & ~kFdBit);
    received.frame.has_fd = (type & kFdBit) != 0;
    received.frame.body = input_.substr(at + kHeaderBytes + 1, size - 1);
    if (received.frame.has_fd) {
      if (input_fds_.empty()) return fail(ErrorCode::kCorrupt, "local peer sent no descriptor");
      received.fd = std::move(input_fds_.front());
      input_fds_.pop_front();
    }
    frames.push_back(std::move(received));
    at += kHeaderBytes + size;
  }
  input_.erase(0, at);
  return {};
}

Result<std::vector<ReceivedFrame>> LocalChannel::receive() {
  std::vector<ReceivedFrame> frames;
  Result<bool> more = true;
  while (frames.size() < kFramesAtOnce && more.ok() && *more) {
    more = read_some();
    const Result<void> cut = cut_frames(frames);
    if (!cut.ok()) return cut.error();
  }
  // What came before the end still counts; the next call reports the end.
  if (!more.ok() && frames.empty()) return more.error();
  return frames;
}

Result<Fd> connect_local(const std::string& path) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address.ok()) return address.error();
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return failed("socket");
  const auto* plain = reinterpret_cast<const sockaddr*>(&*address);
  if (::connect(socket.number(), plain, sizeof(*address)) != 0) return failed(path.c_str());
  return socket;
}

Result<Fd> listen_local(const std::string& path, unsigned mode) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address.ok()) return address.error();
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return failed("socket");
  ::unlink(path.c_str());
  // The mode is set before anybody can connect: bind makes the file, listen opens the door.
  const auto* plain = reinterpret_cast<const sockaddr*>(&*address);
  const mode_t before = ::umask(0777);
  const int bound = ::bind(socket.number(), plain, sizeof(*address));
  ::umask(before);
  if (bound != 0 || ::chmod(path.c_str(), mode) != 0 || ::listen(socket.number(), 128) != 0) {
    return failed(path.c_str());
  }
  return socket;
}

Result<LocalPeer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return failed("peer");
  return LocalPeer{static_cast<std::uint32_t>(credentials.pid), credentials.uid};
}

}  // namespace muster
