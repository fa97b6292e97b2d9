// One connection to the gateway: frames out, frames in, never blocking.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/message/frame.h"
#include "base/types/result.h"

namespace muster::client {

// A path that a Unix socket can have (107 bytes); kInvalid with the length and what to do.
Result<void> check_socket_path(const std::string& path);

class Channel {
 public:
  Channel() = default;
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // kInvalid: no waiting will help (path, permission). kUnavailable: nobody listens now.
  Result<void> open(const std::string& path);
  void close();
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  void queue(std::string_view message);
  bool wants_to_write() const { return out_at_ < out_.size(); }
  // Both end the connection (and say so by kUnavailable) when the other side did; kCorrupt when it
  // sends nonsense.
  Result<void> write_some();
  Result<void> read_some(std::vector<std::string>& messages);

 private:
  int fd_ = -1;
  FrameParser parser_;
  std::string out_;
  std::size_t out_at_ = 0;
  std::uint32_t id_next_ = 1;
};

}  // namespace muster::client
