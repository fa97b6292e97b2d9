// A controller and a launcher made for tests, and the worker between them. One thread drives both
// ends; the worker has its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/link/link.h"
#include "base/message/worker.h"
#include "base/order/local_channel.h"
#include "base/order/order.h"
#include "base/order/signing.h"
#include "base/session/session.h"
#include "worker/host/worker_daemon.h"

namespace muster::testing {

// A folder that goes with its owner.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One server port of a controller, open to the keys on its list.
struct Port {
  Port(Authenticator& authenticator, LinkRole domain, const KeyPair& key,
       const std::string& endpoint);
  std::unique_ptr<ServerSocket> socket;
};

class FakeController {
 public:
  explicit FakeController(std::uint64_t epoch, KeyPair key = make_key_pair(),
                          std::string endpoint = "tcp://127.0.0.1:*");
  void admit(const std::string& public_key, const std::string& node);
  void turn();
  void send(const ControllerMessage& message);
  void welcome();

  KeyPair key;
  LinkContext context;
  AccessList access;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<Port> workers;
  std::unique_ptr<Port> bulk;
  Session session;
  PeerId route;
  int fresh = 0;
  std::vector<HelloPart> hellos;
  std::vector<ReportPart> reports;
  std::vector<Inventory> inventories;
  int heartbeats = 0;
  PeerId bulk_route;
  std::vector<LogAnswer> log_answers;
  bool auto_welcome = true;
  std::string refuse_with;

 private:
  std::uint64_t epoch_;
};

class FakeLauncher {
 public:
  explicit FakeLauncher(std::string path);
  void turn();
  void say(const LocalState& state);
  LocalState& state_of(AttemptKey key);
  void drop_connection() { channel_.reset(); }
  bool is_connected() const { return channel_.has_value(); }

  std::map<AttemptKey, LocalState> attempts;
  std::vector<LocalType> orders;  // As they came.
  std::vector<LocalKill> kills;
  std::string log_path;  // What log-open opens; empty: an error.
  bool follows_orders = true;

 private:
  void take(const ReceivedFrame& received);
  template <class Message>
  void reply(const Message& message, Fd fd = Fd());
  void move_to(AttemptKey key, LocalPhase phase);
  Fd listener_;
  std::optional<LocalChannel> channel_;
};

class WorkerRig {
 public:
  explicit WorkerRig(std::uint64_t epoch = 5);
  ~WorkerRig();
  // Turns both ends until the condition holds; false after the time is over.
  bool turn_until(const std::function<bool()>& condition, int timeout_ms = 10000);
  void turn_for(int ms);
  void start_worker();
  void stop_worker();
  PreparePart prepare(AttemptKey key) const;
  GoPart go(AttemptKey key) const;

  Folder folder;
  WorkerConfig config;
  std::unique_ptr<FakeController> controller;
  std::unique_ptr<FakeLauncher> launcher;
  std::unique_ptr<WorkerDaemon> daemon;
  SigningKey signer = SigningKey::generate(1);
  std::uint64_t epoch = 5;

 private:
  std::thread thread_;
};

AttemptKey key_of(std::uint64_t job);

}  // namespace muster::testing
