// The worker's half of a node: what worker/host does, without threads and sockets.
#include "base/message/codec.h"
#include "tests/sim/cluster/node.h"
#include "tests/sim/cluster/wire.h"

namespace muster::sim {
namespace {

constexpr Duration kTurnEvery = milliseconds(500);

ReportPart report_of(const HeldAttempt& attempt) {
  const int phase = static_cast<int>(attempt.phase) + static_cast<int>(ReportPhase::kPreparing);
  return {attempt.key, static_cast<ReportPhase>(phase), attempt.epoch, attempt.ports,
          attempt.record};
}

Inventory inventory_of(const World& world, const std::string& node) {
  Inventory inventory;
  inventory.cpus = 16;
  inventory.memory_mib = 64000;
  inventory.address = "10.0.0.1";
  for (std::uint32_t i = 0; i < world.plan.gpus; ++i) {
    GpuFacts gpu;
    gpu.uuid = "GPU-" + node + "-" + std::to_string(i);
    gpu.index = gpu.minor = i;
    gpu.type = "h100";
    gpu.memory_mib = 80000;
    inventory.gpus.push_back(gpu);
  }
  return inventory;
}

}  // namespace

void Node::start_worker() {
  ++worker_life_;
  worker_.emplace(++incarnation_);
  world_.note(name_ + " worker starts");
  connect_local();
  world_.wires[number_]->try_connect(world_.up_to(milliseconds(300)));
  world_.agenda.after(kTurnEvery, alive(worker_life_, [this] { turn(); }));
}

void Node::kill_worker(Duration until_restart) {
  if (!worker_) return;
  world_.note(name_ + " worker dies");
  ++worker_life_;
  ++local_life_;
  local_up_ = false;
  worker_.reset();
  world_.wires[number_]->cut(milliseconds(100));
  if (!is_on_) return;
  world_.agenda.after(until_restart, alive(worker_life_, [this] { start_worker(); }));
}

void Node::connected() {
  worker_->session.reconnect();
  flush();
}

void Node::turn() {
  step(ClockTicked{});
  flush();
  world_.agenda.after(kTurnEvery, alive(worker_life_, [this] { turn(); }));
}

void Node::flush() {
  if (!world_.wires[number_]->is_up()) return;
  for (std::string& packet : worker_->session.take_outgoing(world_.now())) {
    world_.wires[number_]->send_up(std::move(packet));
  }
}

void Node::receive(const std::string& packet) {
  if (!worker_) return;
  const Result<Received> received = worker_->session.receive(packet);
  if (!received) {
    if (received.error().code != ErrorCode::kConflict)
      world_.checker.violate(received.error().message);
    return;
  }
  if (received->fresh) step(ControllerMet{});
  for (const std::string& payload : received->payloads) {
    const Result<ControllerMessage> message = decode<ControllerMessage>(payload);
    if (!message) return world_.checker.violate(message.error().message);
    take(*message);
  }
  flush();
}

void Node::take(const ControllerMessage& message) {
  if (message.welcome)
    step(ControllerWelcomed{message.welcome->epoch, message.welcome->heartbeat_every});
  for (const PreparePart& part : message.prepares) {
    const SimOrder order = SimOrder::parse(part.common_order);
    step(PrepareAsked{order.key, order.epoch}, [this, order] { launcher_prepare(order); });
  }
  for (const GoPart& part : message.goes) {
    const SimOrder order = SimOrder::parse(part.go_order);
    step(GoAsked{order.key, order.epoch}, [this, order] { launcher_go(order); });
  }
  for (const KillPart& part : message.kills) {
    step(KillAsked{part.key}, [this, part] { launcher_kill(part.key, part.grace); });
  }
  for (const SignalPart& part : message.signals) step(SignalAsked{part.key});
  for (const AttemptKey& key : message.forgets) {
    step(ForgetAsked{key}, [this, key] { launcher_forget(key); });
  }
}

void Node::step(const WorkerInput& input, std::function<void()> order) {
  if (!worker_) return;
  const WorkerOutput out = worker_->state.step(input, world_.now());
  if (!out.remark.empty()) world_.note(name_ + " remarks: " + out.remark);
  if (out.ask_list) to_launcher([this] { launcher_list(); });
  if (out.pass_on && order) to_launcher(std::move(order));
  WorkerMessage message;
  if (out.say_hello) {
    HelloPart& hello = message.hello.emplace();
    hello.node = name_;
    hello.boot_id = name_ + "-boot-" + std::to_string(boots_);
    hello.incarnation = incarnation_;
    hello.inventory = inventory_of(world_, name_);
    for (const HeldAttempt& attempt : out.attempts) hello.attempts.push_back(report_of(attempt));
  } else {
    for (const HeldAttempt& attempt : out.attempts) message.reports.push_back(report_of(attempt));
    message.heartbeat = out.heartbeat && worker_->session.is_idle();
  }
  if (message.hello || message.heartbeat || !message.reports.empty()) say(message);
}

void Node::say(const WorkerMessage& message) {
  if (worker_->session.knows_peer() && !worker_->session.send(encode(message))) {
    world_.checker.violate("session: the queue of a worker is full");
  }
  flush();
}

}  // namespace muster::sim
