// Waiting on link sockets and plain descriptors together, and waking a thread that waits.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/link/link.h"

namespace muster {

// An eventfd: wake() from any thread, any number of times, makes fd() readable until clear().
class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  int fd() const { return fd_; }
  void wake();
  void clear();

 private:
  int fd_;
};

// For one thread. Watched sockets must outlive it or be forgotten first.
class Poller {
 public:
  void watch(ServerSocket& socket);
  void watch(ClientSocket& socket);
  void watch_fd(int fd);  // For reading.
  void forget(const ServerSocket& socket);
  void forget(const ClientSocket& socket);
  void forget_fd(int fd);

  // Returns when a socket has input, a descriptor is readable, or timeout_ms have passed (-1: no
  // limit). Ticks the sockets meanwhile. A signal may end it early.
  void wait(int timeout_ms);

  bool is_ready(int fd) const;  // Of a watched descriptor, by the last wait().

 private:
  void gather();
  int poll_all(int timeout_ms);
  bool any_input();
  void tick_all();
  bool any_wants_tick() const;

  std::vector<ServerSocket*> servers_;
  std::vector<ClientSocket*> clients_;
  std::map<int, bool> fds_;
  std::vector<pollfd> items_;  // Of the wait that goes on: servers, clients, descriptors.
  std::int64_t asked_all_ms_ = 0;
};

}  // namespace muster
