// One client of the gateway: its identity, its stream, and what it waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/message/frame.h"
#include "base/types/result.h"
#include "submit/gateway/listener.h"

namespace muster {

class Connection {
 public:
  Connection(std::uint64_t id, int fd, const Credentials& who) : id_(id), fd_(fd), who_(who) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::uint64_t id() const { return id_; }
  int fd() const { return fd_; }
  const Credentials& who() const { return who_; }

  // Reads what is there, up to a share; complete messages go to waiting. kUnavailable: the client
  // has closed. Else what is wrong with its stream.
  Result<void> read_some();
  // Appends a message to what is sent.
  void queue(std::string_view message);
  // False: the client is gone.
  bool write_some(std::int64_t now_ms);

  std::size_t bytes_in() const { return parser_.bytes() + waiting_bytes_; }
  std::size_t bytes_out() const { return out_.size() - out_at_; }
  std::int64_t stuck_since_ms() const { return stuck_since_ms_; }  // 0: it reads.

  // Messages read and not forwarded yet.
  bool has_waiting() const { return !waiting_.empty(); }
  std::string next_waiting();
  void put_back(std::string message);  // It is the next again.

  // Request numbers without their last answer, and whether that may be long.
  std::map<std::uint64_t, bool> outstanding;
  std::uint32_t events = 0;  // What epoll watches for.
  bool closes_when_sent = false;
  bool is_dirty = false;  // In the list of those to write to.

 private:
  std::uint64_t id_;
  int fd_;
  Credentials who_;
  FrameParser parser_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::string out_;
  std::size_t out_at_ = 0;
  std::uint32_t frame_next_ = 1;
  std::int64_t stuck_since_ms_ = 0;
};

}  // namespace muster
