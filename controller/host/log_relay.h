// Log bytes on their way from a worker to a reader: a port and a thread of their own, past the
// engine. The reader pulls, so at most one answer per read is under way: that is its credit.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/request.h"
#include "base/message/worker.h"
#include "controller/host/caller.h"
#include "controller/host/view.h"

namespace muster {

constexpr std::size_t kLogHandlesMax = 20000;
constexpr std::size_t kLogHandlesPerUidMax = 256;
constexpr Duration kLogHandleIdle = minutes(2);
constexpr Duration kLogAnswerPatience = seconds(20);
constexpr Duration kLogRoutePatience = seconds(5);  // For a node that is just connecting.
constexpr std::uint32_t kLogWaitMsMax = 10000;

class LogRelay {
 public:
  LogRelay(std::unique_ptr<ServerSocket> socket, const View& view, Respond respond);
  ~LogRelay();
  LogRelay(const LogRelay&) = delete;
  LogRelay& operator=(const LogRelay&) = delete;

  void start();
  void stop();
  void take(const Caller& caller, Request request);         // The log verbs. Any thread.
  void drop(const PeerId& peer, std::uint64_t connection);  // The client is gone. Any thread.

 private:
  struct Handle {
    Caller owner;
    std::string node;
    AttemptKey key;
    std::int32_t rank = -1;
    bool errors = false;
    Instant used_at;
  };
  struct Pending {
    Caller caller;
    std::uint64_t handle = 0;
    bool opening = false;
    Instant asked_at;
  };
  // Waits for its node to say that it is there.
  struct Parked {
    std::uint64_t handle = 0;
    LogReadBody body;
    Pending pending;
  };
  struct Gone {
    PeerId peer;
    std::uint64_t connection = 0;
  };
  void run();
  void take_queued();
  void open(const Caller& caller, const Request& request);
  Result<Handle> resolve(const Caller& caller, const LogOpenBody& body);
  void read(const Caller& caller, const Request& request);
  void ask(const Handle& handle, const LogReadBody& body, Pending pending);
  void park(const LogReadBody& body, Pending pending);
  void ask_parked(const std::string& node);
  void take_answer(const Inbound& inbound);
  void refuse(const Caller& caller, ErrorCode code, const std::string& message);
  void expire();

  std::unique_ptr<ServerSocket> socket_;
  const View& view_;
  Respond respond_;
  std::map<std::string, PeerId> routes_;  // By node name.
  std::map<std::uint64_t, Handle> handles_;
  std::map<std::uint64_t, Pending> pending_;
  std::vector<Parked> parked_;
  std::uint64_t number_last_ = 0;
  Instant expired_at_;
  WakeUp wake_;
  std::mutex mutex_;
  std::vector<std::pair<Caller, Request>> queued_;
  std::vector<Gone> gone_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace muster
