// Turns errands into signed orders and messages for nodes. Reads blobs, signs, encodes: on its own
// thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/message/worker.h"
#include "base/order/signing.h"
#include "controller/host/blob_store.h"
#include "controller/host/errand.h"
#include "controller/host/users.h"

namespace muster {

struct DispatcherParts {
  const SigningKey& key;
  Uuid cluster;
  BlobStore& blobs;
  Users& users;
  // Takes one message for one node; drops it when that node is not connected (its hello brings it
  // back).
  std::function<void(const std::string& node, ControllerMessage message)> send;
};

class Dispatcher {
 public:
  explicit Dispatcher(DispatcherParts parts);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void push(std::vector<Errand> errands);  // Any thread.
  void stop();

 private:
  // The part of an order that all nodes of an attempt share; signed once, kept while it is fresh.
  struct Common {
    std::string order;
    std::string signature;
    Hash256 hash;
    std::string script;
    std::string environment;
    std::int64_t made_s = 0;
  };
  void run();
  void carry_out(const std::vector<Errand>& errands);
  void add_prepare(const PrepareErrand& errand, const std::string& node,
                   ControllerMessage& message);
  void add_go(const GoErrand& errand, ControllerMessage& message);
  Result<std::shared_ptr<const Common>> common_for(const LaunchFacts& facts);
  Result<std::shared_ptr<const Common>> make_common(const LaunchFacts& facts);
  std::string sign(OrderKind kind, const std::string& order) const;

  DispatcherParts parts_;
  std::map<AttemptKey, std::shared_ptr<const Common>> commons_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<std::vector<Errand>> queued_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster
