// What a worker would say, said at once.
#include "tests/bench/cluster/sim_worker.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/message/codec.h"
#include "base/order/order.h"

namespace muster {
namespace {

constexpr std::uint16_t kFirstPort = 20000;

ReportPart report(const AttemptKey& key, ReportPhase phase, Epoch epoch) {
  ReportPart part;
  part.key = key;
  part.phase = phase;
  part.epoch = epoch;
  return part;
}

ReportPart end_of(const AttemptKey& key, Epoch epoch, CauseKind kind) {
  ReportPart part = report(key, ReportPhase::kEnded, epoch);
  ExitRecord record;
  record.launched = true;
  record.ran = milliseconds(1);
  record.cause.kind = kind;
  part.record = record;
  return part;
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_workers: %s\n", why.c_str());
  std::exit(1);
}

Instant steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

SimWorker::SimWorker(std::unique_ptr<ClientSocket> socket, std::string name, SimBehaviour behaviour)
    : socket_(std::move(socket)),
      session_(static_cast<std::uint64_t>(steady_now().us)),
      name_(std::move(name)),
      behaviour_(behaviour) {
  session_.reconnect();
}

void SimWorker::turn(SimCounts& counts) {
  socket_->has_input();  // Notes what became of the connection.
  if (socket_->connected() && incarnation_ != socket_->incarnation()) {
    incarnation_ = socket_->incarnation();
    session_.reconnect();
  }
  while (auto packet = socket_->receive()) {
    if (!is_hung()) take(*packet, counts);
  }
  if (is_hung()) return;
  say_hello();
  beat();
  if (socket_->connected()) flush();
}

bool SimWorker::is_hung() {
  if (!hung_) return false;
  const bool is_over =
      behaviour_.hangs_for.us > 0 && steady_now() - hung_at_ > behaviour_.hangs_for;
  if (is_over) come_back();
  return hung_;
}

void SimWorker::come_back() {
  hung_ = false;
  said_hello_ = false;
  is_welcomed_ = false;
  session_ = Session(static_cast<std::uint64_t>(steady_now().us));
  session_.reconnect();
}

void SimWorker::take(const std::string& packet, SimCounts& counts) {
  auto received = session_.receive(packet);
  if (!received) return;
  if (received->fresh) {
    said_hello_ = false;
    is_welcomed_ = false;
  }
  for (const std::string& payload : received->payloads) {
    auto message = decode<ControllerMessage>(payload);
    if (!message) give_up(message.error().message);
    if (!message->refused.empty()) give_up(name_ + " refused: " + message->refused);
    if (message->welcome.has_value()) is_welcomed_ = true;
    if (behaviour_.hangs && !message->prepares.empty()) {
      hung_ = true;
      hung_at_ = steady_now();
      ++counts.hung;
      return;
    }
    act(*message, counts);
  }
}

void SimWorker::act(const ControllerMessage& message, SimCounts& counts) {
  WorkerMessage reply;
  for (const PreparePart& part : message.prepares) prepare(part, reply);
  for (const GoPart& part : message.goes) launch(part, reply);
  for (const KillPart& part : message.kills)
    reply.reports.push_back(end_of(part.key, {}, CauseKind::kCancelled));
  counts.prepared += message.prepares.size();
  counts.launched += message.goes.size();
  counts.killed += message.kills.size();
  if (!reply.reports.empty()) send(reply);
}

void SimWorker::prepare(const PreparePart& part, WorkerMessage& reply) {
  const auto order = decode_common_order(part.common_order);
  if (!order) give_up(order.error().message);
  reply.reports.push_back(report(order->attempt, ReportPhase::kPrepared, order->epoch));
  for (std::uint32_t i = 0; i < order->ports; ++i)
    reply.reports.back().ports.push_back(static_cast<std::uint16_t>(kFirstPort + i));
}

void SimWorker::launch(const GoPart& part, WorkerMessage& reply) const {
  const auto order = decode_go_order(part.go_order);
  if (!order) give_up(order.error().message);
  reply.reports.push_back(behaviour_.holds
                              ? report(order->attempt, ReportPhase::kRunning, order->epoch)
                              : end_of(order->attempt, order->epoch, CauseKind::kCompleted));
}

void SimWorker::say_hello() {
  if (said_hello_ || !session_.knows_peer()) return;
  HelloPart hello;
  hello.node = name_;
  hello.boot_id = "bench";
  hello.incarnation = session_.incarnation();
  hello.inventory.cpus = 64;
  hello.inventory.memory_mib = 512U << 10U;
  hello.inventory.address = "127.0.0.1";
  for (std::uint32_t i = 0; i < behaviour_.gpus; ++i) {
    GpuFacts gpu;
    gpu.uuid = name_ + "-gpu-" + std::to_string(i);
    gpu.index = i;
    gpu.type = "h100";
    gpu.memory_mib = 81920;
    hello.inventory.gpus.push_back(gpu);
  }
  WorkerMessage message;
  message.hello = hello;
  send(message);
  said_hello_ = true;
}

void SimWorker::beat() {
  const Instant now = steady_now();
  if (!is_welcomed_ || now - beat_at_ < seconds(2)) return;
  beat_at_ = now;
  WorkerMessage message;
  message.heartbeat = true;
  send(message);
}

void SimWorker::send(const WorkerMessage& message) {
  const auto sent = session_.send(encode(message));
  if (!sent) give_up(name_ + ": " + sent.error().message);
}

void SimWorker::flush() {
  for (const std::string& packet : session_.take_outgoing(steady_now())) {
    if (!socket_->send(packet)) return;
  }
}

}  // namespace muster
