// Sessions with workers.
#include "controller/host/worker_port.h"

#include <chrono>

#include "base/daemon/log.h"
#include "base/message/codec.h"

namespace muster {

namespace {

constexpr int kInboundPerTurn = 512;
constexpr std::string_view kNodePrefix = "node:";

AttemptReport report_of(const ReportPart& part) {
  return {part.key, static_cast<AttemptPhase>(part.phase), part.epoch, part.ports, part.record};
}

std::vector<AttemptReport> reports_of(const std::vector<ReportPart>& parts) {
  std::vector<AttemptReport> reports;
  reports.reserve(parts.size());
  for (const ReportPart& part : parts) reports.push_back(report_of(part));
  return reports;
}

}  // namespace

WorkerPort::WorkerPort(WorkerPortParts parts)
    : parts_(std::move(parts)), peers_(parts_.epoch.value) {}

WorkerPort::~WorkerPort() { stop(); }

void WorkerPort::start() {
  thread_ = std::thread([this] { run(); });
}

void WorkerPort::stop() {
  stopping_ = true;
  wake_.wake();
  if (thread_.joinable()) thread_.join();
}

void WorkerPort::send(const std::string& node, ControllerMessage message) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = queued_.empty();
    queued_.emplace_back(node, std::move(message));
  }
  if (first) wake_.wake();
}

// A report must not get lost: the worker's session counts it as delivered. So the port waits for
// the engine.
void WorkerPort::push(Command command) {
  while (!parts_.push(command)) {
    if (stopping_) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void WorkerPort::run() {
  Poller poller;
  poller.watch(*parts_.socket);
  poller.watch_fd(wake_.fd());
  while (!stopping_) {
    poller.wait(200);
    wake_.clear();
    receive_some();
    send_queued();
    const Instant now = boottime();
    if (now - looked_at_ < milliseconds(200)) continue;
    looked_at_ = now;
    look_after_peers();
  }
}

void WorkerPort::receive_some() {
  for (int i = 0; i < kInboundPerTurn; ++i) {
    auto inbound = parts_.socket->receive();
    if (!inbound.has_value()) return;
    if (!inbound->user_id.starts_with(kNodePrefix)) continue;
    take(*inbound);
  }
}

void WorkerPort::take(const Inbound& inbound) {
  const std::string node = inbound.user_id.substr(kNodePrefix.size());
  const auto sender = peers_.sender(node, inbound.payload, boottime());
  if (!sender) {
    log_debug("worker {}: {}", node, sender.error().message);
    return;
  }
  Peer& peer = **sender;
  auto received = peer.session.receive(inbound.payload);
  if (!received) {
    log_debug("worker {}: {}", node, received.error().message);
    return;
  }
  if (received->fresh) peer.welcomed = false;
  peer.route = inbound.peer;
  peer.heard_at = boottime();
  for (const std::string& payload : received->payloads) take_message(node, peer, payload);
  flush(peer);
}

void WorkerPort::take_message(const std::string& node, Peer& peer, const std::string& payload) {
  auto message = decode<WorkerMessage>(payload);
  if (!message) {
    log_warn("worker {}: {}", node, message.error().message);
    return;
  }
  if (message->hello.has_value()) {
    if (!take_hello(node, peer, *message->hello)) return;
    push(WorkerHello{node, message->hello->boot_id, message->hello->incarnation,
                     message->hello->inventory, reports_of(message->hello->attempts)});
  }
  if (!peer.welcomed) return;  // Nothing counts before the list of all attempts.
  if (message->inventory.has_value()) push(WorkerInventory{node, *message->inventory});
  if (!message->reports.empty()) {
    push(WorkerReport{node, reports_of(message->reports)});
  } else if (message->heartbeat) {
    push(WorkerHeard{node});
  }
}

std::string WorkerPort::why_refused(const std::string& node, const Peer& peer,
                                    const HelloPart& hello) {
  if (hello.node != node) {
    return "this key belongs to node '" + node + "', not to '" + hello.node +
           "'; correct the worker's name";
  }
  if (hello.protocol_min > kWorkerProtocol || hello.protocol_max < kWorkerProtocol) {
    return "the worker speaks protocols " + std::to_string(hello.protocol_min) + " to " +
           std::to_string(hello.protocol_max) + ", the controller " +
           std::to_string(kWorkerProtocol) + "; install releases that are at most two apart";
  }
  const Instant now = boottime();
  const Peer* twin = peers_.twin_of(node, peer, hello.boot_id, now - parts_.suspect_after());
  if (twin == nullptr) return {};
  const std::string text = "a second machine has this node's key (boot " + hello.boot_id +
                           ", address " + hello.inventory.address +
                           ") and is refused; enrol it under a name of its own";
  if (alarms_.raise(node, text, now)) log_error("worker {}: {}", node, text);
  return "another machine is node '" + node +
         "' and is alive: its key was copied; enrol this "
         "machine under a name of its own, or, if this is the right one, stop the worker there";
}

bool WorkerPort::take_hello(const std::string& node, Peer& peer, const HelloPart& hello) {
  ControllerMessage reply;
  reply.refused = why_refused(node, peer, hello);
  if (!reply.refused.empty()) {
    log_warn("worker {} refused: {}", node, reply.refused);
    send_to(peer, reply);
    return false;
  }
  const Peer* before = peers_.served(node);
  if (before != nullptr && before->boot_id != hello.boot_id)
    log_info("worker {}: a new boot", node);
  peers_.serve(node, peer);
  peer.boot_id = hello.boot_id;
  peer.welcomed = true;
  peer.lost = false;
  reply.welcome = WelcomePart{kWorkerProtocol, parts_.cluster_id, parts_.epoch, kHeartbeatEvery};
  send_to(peer, reply);
  log_info("worker {} connected: {} CPUs, {} GPUs, {} attempts", node, hello.inventory.cpus,
           hello.inventory.gpus.size(), hello.attempts.size());
  return true;
}

void WorkerPort::send_queued() {
  std::vector<std::pair<std::string, ControllerMessage>> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(queued_);
  }
  for (const auto& [node, message] : ready) {
    Peer* peer = peers_.served(node);
    if (peer != nullptr && peer->welcomed) send_to(*peer, message);
  }
  if (ready.empty()) return;
  for (const auto& [node, message] : ready) {
    if (Peer* peer = peers_.served(node)) flush(*peer);
  }
}

void WorkerPort::send_to(Peer& peer, const ControllerMessage& message) {
  const auto sent = peer.session.send(encode(message));
  if (sent) return;
  // Full: the node does not read. A new hello derives everything again.
  log_warn("a message to a worker was dropped: {}", sent.error().message);
}

void WorkerPort::flush(Peer& peer) {
  for (const std::string& packet : peer.session.take_outgoing(boottime())) {
    if (!parts_.socket->send(peer.route, packet)) return;  // Sent again when the session says so.
  }
}

void WorkerPort::look_after_peers() {
  const Instant now = boottime();
  peers_.for_each([&](const std::string& node, Peer& peer, bool is_served) {
    const bool is_silent = now - peer.heard_at > kWorkerSilence;
    if (is_served && peer.welcomed && !peer.lost && is_silent) {
      log_warn("worker {}: nothing heard for {} s", node, kWorkerSilence.seconds());
      push(WorkerLost{node});
    }
    peer.lost = is_silent;
    const auto wake = peer.session.wake_at();
    if (wake.has_value() && *wake <= now && !peer.lost) flush(peer);
  });
}

}  // namespace muster
