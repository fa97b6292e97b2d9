// The port workers speak to: one thread that keeps a session per node, turns their messages into
// commands and carries orders to them. Who a worker is, its key says; never a name it writes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/worker.h"
#include "controller/core/command.h"
#include "controller/host/clock.h"
#include "controller/host/worker_peers.h"

namespace muster {

constexpr Duration kWorkerSilence = seconds(6);  // Without a word: the connection counts as lost.
constexpr Duration kHeartbeatEvery = seconds(2);

struct WorkerPortParts {
  std::unique_ptr<ServerSocket> socket;
  Epoch epoch;
  std::string cluster_id;
  std::function<bool(Command)> push;  // To the engine; false: its queue is full.
  // So long a machine keeps its node's name without a word, against others with its key.
  std::function<Duration()> suspect_after;
};

class WorkerPort {
 public:
  explicit WorkerPort(WorkerPortParts parts);
  ~WorkerPort();
  WorkerPort(const WorkerPort&) = delete;
  WorkerPort& operator=(const WorkerPort&) = delete;

  void start();
  void stop();
  // Any thread. Dropped when the node is not connected: its hello derives everything again.
  void send(const std::string& node, ControllerMessage message);
  // Nodes whose key two machines have. Any thread.
  std::vector<NodeAlarm> alarms() const { return alarms_.standing(boottime()); }

 private:
  using Peer = WorkerPeer;
  void run();
  void receive_some();
  void take(const Inbound& inbound);
  void take_message(const std::string& node, Peer& peer, const std::string& payload);
  bool take_hello(const std::string& node, Peer& peer, const HelloPart& hello);
  std::string why_refused(const std::string& node, const Peer& peer, const HelloPart& hello);
  void send_queued();
  void send_to(Peer& peer, const ControllerMessage& message);
  void flush(Peer& peer);
  void look_after_peers();
  void push(Command command);

  WorkerPortParts parts_;
  WorkerPeers peers_;
  NodeAlarms alarms_;
  WakeUp wake_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, ControllerMessage>> queued_;
  std::atomic<bool> stopping_{false};
  Instant looked_at_;
  std::thread thread_;
};

}  // namespace muster
