// Both ends of a worker.
#include "rig.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>

#include "base/message/codec.h"
#include "worker/host/boot_clock.h"

namespace muster::testing {

Folder::Folder() {
  char name[] = "/tmp/muster-worker-XXXXXX";
  path_ = ::mkdtemp(name);
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

Port::Port(Authenticator& authenticator, LinkRole domain, const KeyPair& key,
           const std::string& endpoint) {
  ServerOptions options;
  options.endpoint = endpoint;
  options.domain = domain;
  options.key = key;
  auto opened = ServerSocket::open(authenticator, options);
  MUSTER_ASSERT(opened.ok());
  socket = *std::move(opened);
}

FakeController::FakeController(std::uint64_t epoch, KeyPair key_given, std::string endpoint)
    : key(std::move(key_given)), session(epoch), epoch_(epoch) {
  authenticator = *Authenticator::start(context, access, [](const std::string&) {});
  workers = std::make_unique<Port>(*authenticator, LinkRole::kWorker, key, endpoint);
  bulk = std::make_unique<Port>(*authenticator, LinkRole::kBulk, key, "tcp://127.0.0.1:*");
}

void FakeController::admit(const std::string& public_key, const std::string& node) {
  access.add(public_key, {"node:" + node, LinkRole::kWorker});
}

void FakeController::welcome() {
  ControllerMessage message;
  if (refuse_with.empty()) {
    message.welcome = WelcomePart{kWorkerProtocol, "cluster", Epoch{epoch_}, milliseconds(200)};
  } else {
    message.refused = refuse_with;
  }
  send(message);
}

void FakeController::send(const ControllerMessage& message) {
  ASSERT_TRUE(session.send(encode(message)).ok());
}

void FakeController::turn() {
  while (auto inbound = workers->socket->receive()) {
    auto received = session.receive(inbound->payload);
    ASSERT_TRUE(received.ok()) << received.error().message;
    route = inbound->peer;
    fresh += received->fresh ? 1 : 0;
    for (const std::string& payload : received->payloads) {
      auto message = decode<WorkerMessage>(payload);
      ASSERT_TRUE(message.ok()) << message.error().message;
      if (message->hello) {
        hellos.push_back(*message->hello);
        if (auto_welcome) welcome();
      }
      reports.insert(reports.end(), message->reports.begin(), message->reports.end());
      if (message->inventory) inventories.push_back(*message->inventory);
      if (message->heartbeat) ++heartbeats;
    }
  }
  if (!route.empty()) {
    for (const std::string& packet : session.take_outgoing(boot_now()))
      (void)workers->socket->send(route, packet);
  }
  while (auto inbound = bulk->socket->receive()) {
    bulk_route = inbound->peer;
    auto answer = decode<LogAnswer>(inbound->payload);
    ASSERT_TRUE(answer.ok());
    if (answer->number != 0) log_answers.push_back(*answer);
  }
  workers->socket->tick();
  bulk->socket->tick();
}

FakeLauncher::FakeLauncher(std::string path) {
  auto listening = listen_local(path, 0600);
  MUSTER_ASSERT(listening.ok());
  listener_ = *std::move(listening);
  ::fcntl(listener_.number(), F_SETFL, O_NONBLOCK);
}

void FakeLauncher::turn() {
  Fd accepted(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (accepted.is_open()) {
    channel_.emplace(std::move(accepted));
    reply(LocalHello{});
  }
  if (!channel_) return;
  auto frames = channel_->receive();
  if (!frames) {
    channel_.reset();
    return;
  }
  for (const ReceivedFrame& frame : *frames) take(frame);
  if (channel_) (void)channel_->flush();
}

template <class Message>
void FakeLauncher::reply(const Message& message, Fd fd) {
  auto frame = encode_local(message);
  ASSERT_TRUE(frame.ok());
  if (channel_) (void)channel_->send(*std::move(frame), std::move(fd));
}

void FakeLauncher::say(const LocalState& state) {
  attempts[state.key] = state;
  reply(state);
}

LocalState& FakeLauncher::state_of(AttemptKey key) {
  LocalState& state = attempts[key];
  state.key = key;
  return state;
}

void FakeLauncher::move_to(AttemptKey key, LocalPhase phase) {
  if (!follows_orders) return;
  LocalState& state = state_of(key);
  state.phase = phase;
  if (phase == LocalPhase::kPrepared) state.ports = {40000};
  reply(state);
}

void FakeLauncher::take(const ReceivedFrame& received) {
  const LocalFrame& frame = received.frame;
  orders.push_back(frame.type);
  if (frame.type == LocalType::kList) {
    for (const auto& [key, state] : attempts) reply(state);
    reply(LocalListEnd{});
  } else if (frame.type == LocalType::kPrepare) {
    const AttemptKey key = decode_local<LocalPrepare>(frame)->key;
    move_to(key, LocalPhase::kPreparing);
    move_to(key, LocalPhase::kPrepared);
  } else if (frame.type == LocalType::kGo) {
    move_to(decode_local<LocalGo>(frame)->key, LocalPhase::kRunning);
  } else if (frame.type == LocalType::kKill) {
    kills.push_back(*decode_local<LocalKill>(frame));
    move_to(kills.back().key, LocalPhase::kEnded);
  } else if (frame.type == LocalType::kForget) {
    attempts.erase(decode_local<LocalForget>(frame)->key);
  } else if (frame.type == LocalType::kLogOpen) {
    LocalLogOpened answer;
    answer.number = decode_local<LocalLogOpen>(frame)->number;
    Fd file(log_path.empty() ? -1 : ::open(log_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) answer.error = "no such output";
    answer.path = log_path;
    reply(answer, std::move(file));
  }
}

AttemptKey key_of(std::uint64_t job) { return {JobId{job}, Element{0}, AttemptNo{1}}; }

WorkerRig::WorkerRig(std::uint64_t epoch_given) : epoch(epoch_given) {
  controller = std::make_unique<FakeController>(epoch);
  launcher = std::make_unique<FakeLauncher>(folder.path() + "/launcher");
  config.node = "n1";
  config.controller = controller->workers->socket->endpoint();
  config.bulk = controller->bulk->socket->endpoint();
  config.server_key = controller->key.public_key;
  config.key_file = folder.path() + "/key";
  config.launcher = folder.path() + "/launcher";
  config.state_dir = folder.path();
  config.address = "127.0.0.1";
  controller->admit(load_or_make_key(config.key_file)->public_key, "n1");
}

WorkerRig::~WorkerRig() { stop_worker(); }

void WorkerRig::start_worker() {
  auto started = WorkerDaemon::start(config, "0.1.0");
  ASSERT_TRUE(started.ok()) << started.error().message;
  daemon = *std::move(started);
  thread_ = std::thread([this] { daemon->run_until_stopped(); });
}

void WorkerRig::stop_worker() {
  if (daemon) daemon->stop();
  if (thread_.joinable()) thread_.join();
  daemon.reset();
}

bool WorkerRig::turn_until(const std::function<bool()>& condition, int timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (std::chrono::steady_clock::now() < until) {
    if (controller) controller->turn();
    if (launcher) launcher->turn();
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

void WorkerRig::turn_for(int ms) {
  turn_until([] { return false; }, ms);
}

PreparePart WorkerRig::prepare(AttemptKey key) const {
  CommonOrder common;
  common.key_id = 1;
  common.attempt = key;
  common.epoch = Epoch{epoch};
  common.expiry_s = kOrderLifeSeconds;
  common.uid = Uid{1000};
  common.user = "kim";
  common.launch.cwd = "/";
  common.launch.argv = {"true"};
  common.launch.is_command = true;
  common.members = {{"n1", 0, 1, 0}};
  PreparePart part;
  const auto bytes = encode_order(common);
  MUSTER_ASSERT(bytes.ok());
  part.common_order = *bytes;
  const Signature common_signature = signer.sign(OrderKind::kCommon, *bytes);
  part.common_signature.assign(common_signature.bytes.begin(), common_signature.bytes.end());
  NodeOrder node;
  node.key_id = 1;
  node.attempt = key;
  node.common_hash = content_hash(*bytes);
  node.node = "n1";
  part.node_order = *encode_order(node);
  const Signature node_signature = signer.sign(OrderKind::kNode, part.node_order);
  part.node_signature.assign(node_signature.bytes.begin(), node_signature.bytes.end());
  return part;
}

GoPart WorkerRig::go(AttemptKey key) const {
  GoOrder order;
  order.key_id = 1;
  order.attempt = key;
  order.epoch = Epoch{epoch};
  GoPart part;
  part.go_order = *encode_order(order);
  const Signature signature = signer.sign(OrderKind::kGo, part.go_order);
  part.go_signature.assign(signature.bytes.begin(), signature.bytes.end());
  return part;
}

}  // namespace muster::testing
