// How a node's key becomes known: by a one-time token, on a port where nothing else is understood.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/request.h"
#include "base/message/worker.h"

namespace muster {

constexpr Duration kTokenValid = hours(1);
constexpr std::size_t kTokensMax = 10000;
constexpr std::uint32_t kTokenTriesPerSecondMax = 50;  // All strangers together.

struct EnrolmentParts {
  std::unique_ptr<ServerSocket> socket;
  EnrolAnswer facts;  // What every enrolled node gets.
  // Makes the key known and durable, then calls back with an error text or nothing.
  std::function<void(const std::string& node, const std::string& key,
                     std::function<void(std::string)> done)>
      enrol;
};

class Enrolment {
 public:
  explicit Enrolment(EnrolmentParts parts);
  ~Enrolment();
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;

  void start();
  void stop();
  // A new token for this node; an older one of the same node is void. Any thread. Tokens live in
  // memory only: after a restart of the controller a new one is asked for.
  Result<std::string> make_token(const std::string& node);

 private:
  struct Token {
    Hash256 hash;  // Never the token itself.
    Instant until;
  };
  struct Answer {
    PeerId peer;
    std::string payload;
  };
  void run();
  void take(const Inbound& inbound);
  bool token_is_good(const EnrolAsk& ask);
  void reply(const PeerId& peer, const std::string& error);

  EnrolmentParts parts_;
  WakeUp wake_;
  std::mutex mutex_;
  std::map<std::string, Token> tokens_;  // By node.
  std::vector<Answer> answers_;
  std::uint32_t tries_ = 0;
  Instant tries_since_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace muster
