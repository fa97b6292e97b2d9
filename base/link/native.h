// What the sockets of this folder share of libzmq, without its header: options, monitors, text of
// errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/link/keys.h"
#include "base/types/result.h"

namespace muster::link {

// Options that must be accepted: a refusal is a bug (or a libzmq without CURVE) and ends the
// process.
void set_option(void* socket, int option, int value);
void set_option(void* socket, int option, std::string_view value);

// What both ends have in common: limits, heartbeats, keepalive, linger.
void set_common_options(void* socket);

std::string zmq_problem();  // Of the calling thread's last failed call.

// User-Id of ZAP: the user id and the key that proved it.
std::string join_user_id(std::string_view user_id, std::string_view public_key);
struct SplitUserId {
  std::string_view user_id;
  std::string_view public_key;
};
std::optional<SplitUserId> split_user_id(std::string_view joined);

// The ZAP request's address of libzmq's own handler.
constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";

struct MonitorEvent {
  int kind = 0;  // ZMQ_EVENT_*.
  std::int32_t value = 0;
};

// What happens to the connections of one socket. The queue of events has no limit, so that a busy
// owner never stops an I/O thread: the owner must keep reading.
class Monitor {
 public:
  Monitor(void* context, void* socket, int events);
  ~Monitor();  // Before the socket is closed.
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  bool is_open() const { return pair_ != nullptr; }  // False: the context has no further socket.
  std::optional<MonitorEvent> next();
  int fd() const;

 private:
  void* socket_;
  void* pair_ = nullptr;
};

int native_fd(void* socket);
bool readable(void* socket);  // Also lets libzmq do its housekeeping.

// An epoll descriptor over several others; readable when one of them is.
class FdSet {
 public:
  FdSet();
  ~FdSet();
  FdSet(const FdSet&) = delete;
  FdSet& operator=(const FdSet&) = delete;
  void add(int fd);
  void remove(int fd);
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::int64_t clock_ms();  // Monotone.

}  // namespace muster::link
