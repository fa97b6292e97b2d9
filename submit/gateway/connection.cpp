// A client's stream.
#include "submit/gateway/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster {
namespace {

constexpr std::size_t kReadBytes = 64U << 10U;
constexpr int kReadsPerTurn = 4;  // Then others have theirs.
constexpr std::size_t kCompactBytes = 1U << 20U;

}  // namespace

Connection::~Connection() { close(fd_); }

Result<void> Connection::read_some() {
  std::array<char, kReadBytes> buffer;
  std::vector<std::string> messages;
  Result<void> result;
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      result = fail(ErrorCode::kUnavailable, "the client closed the connection");
      break;
    }
    result = parser_.push({buffer.data(), static_cast<std::size_t>(n)}, messages);
    if (!result || static_cast<std::size_t>(n) < buffer.size()) break;
  }
  for (auto& message : messages) {
    waiting_bytes_ += message.size();
    waiting_.push_back(std::move(message));
  }
  return result;
}

std::string Connection::next_waiting() {
  std::string message = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= message.size();
  return message;
}

void Connection::put_back(std::string message) {
  waiting_bytes_ += message.size();
  waiting_.push_front(std::move(message));
}

void Connection::queue(std::string_view message) {
  if (out_at_ == out_.size() || out_at_ > kCompactBytes) {
    out_.erase(0, out_at_);
    out_at_ = 0;
  }
  append_frames(message, frame_next_++, out_);
}

bool Connection::write_some(std::int64_t now_ms) {
  while (out_at_ < out_.size()) {
    const ssize_t n =
        send(fd_, out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (stuck_since_ms_ == 0) stuck_since_ms_ = now_ms;
      return true;
    }
    if (n < 0) return false;
    out_at_ += static_cast<std::size_t>(n);
    stuck_since_ms_ = 0;
  }
  if (out_.capacity() > kCompactBytes) std::string().swap(out_);
  out_.clear();
  out_at_ = 0;
  return true;
}

}  // namespace muster
