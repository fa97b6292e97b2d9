// Simulated workers on a real controller: they speak the real protocol over real sockets and run
// nothing.
//
//   bench_workers keys DIR COUNT                 makes node keys s1…sN in DIR, prints [[node]]
//   tables for the controller bench_workers run DIR COUNT ENDPOINT SERVER_KEY [GPUS] [DEAD]
//
// `run` prints "connected" once all are welcomed, then, at end of input, what it did as one JSON
// object. The first DEAD workers answer nothing after their hello. Every attempt ends at once with
// success when told to go.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/codec.h"
#include "base/message/worker.h"
#include "base/order/order.h"
#include "base/session/session.h"

namespace {

using namespace muster;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_workers: %s\n", why.c_str());
  std::exit(1);
}

Instant steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

std::string node_name(std::uint64_t number) { return "s" + std::to_string(number); }

struct Counts {
  std::uint64_t prepared = 0;
  std::uint64_t launched = 0;
  std::uint64_t killed = 0;
  Instant last_prepare;
  Instant last_go;
};

class Worker {
 public:
  Worker(std::unique_ptr<ClientSocket> socket, std::string name, std::uint32_t gpus, bool is_dead)
      : socket_(std::move(socket)),
        session_(static_cast<std::uint64_t>(steady_now().us)),
        name_(std::move(name)),
        gpus_(gpus),
        is_dead_(is_dead) {
    session_.reconnect();
  }

  ClientSocket& socket() { return *socket_; }
  bool is_welcomed() const { return is_welcomed_; }

  void turn(Counts& counts) {
    if (socket_->connected() && incarnation_ != socket_->incarnation()) {
      incarnation_ = socket_->incarnation();
      session_.reconnect();
    }
    while (auto packet = socket_->receive()) take(*packet, counts);
    say_hello();
    beat();
    if (session_.knows_peer() || socket_->connected()) flush();
  }

 private:
  void take(const std::string& packet, Counts& counts) {
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
      if (!is_dead_) act(*message, counts);
    }
  }

  void act(const ControllerMessage& message, Counts& counts) {
    WorkerMessage reply;
    for (const PreparePart& prepare : message.prepares) {
      const auto order = decode_common_order(prepare.common_order);
      if (!order) give_up(order.error().message);
      reply.reports.push_back(report(order->attempt, ReportPhase::kPrepared, order->epoch));
      for (std::uint32_t i = 0; i < order->ports; ++i)
        reply.reports.back().ports.push_back(static_cast<std::uint16_t>(20000 + i));
      ++counts.prepared;
      counts.last_prepare = steady_now();
    }
    for (const GoPart& go : message.goes) {
      const auto order = decode_go_order(go.go_order);
      if (!order) give_up(order.error().message);
      reply.reports.push_back(report(order->attempt, ReportPhase::kEnded, order->epoch));
      ExitRecord record;
      record.launched = true;
      record.ran = milliseconds(1);
      reply.reports.back().record = record;
      ++counts.launched;
      counts.last_go = steady_now();
    }
    for (const KillPart& kill : message.kills) {
      reply.reports.push_back(report(kill.key, ReportPhase::kEnded, {}));
      ExitRecord record;
      record.cause.kind = CauseKind::kCancelled;
      reply.reports.back().record = record;
      ++counts.killed;
    }
    if (!reply.reports.empty()) send(reply);
  }

  static ReportPart report(const AttemptKey& key, ReportPhase phase, Epoch epoch) {
    ReportPart part;
    part.key = key;
    part.phase = phase;
    part.epoch = epoch;
    return part;
  }

  void say_hello() {
    if (said_hello_ || !session_.knows_peer()) return;
    WorkerMessage message;
    HelloPart hello;
    hello.node = name_;
    hello.boot_id = "bench";
    hello.incarnation = session_.incarnation();
    hello.inventory.cpus = 64;
    hello.inventory.memory_mib = 512U << 10U;
    hello.inventory.address = "127.0.0.1";
    for (std::uint32_t i = 0; i < gpus_; ++i) {
      GpuFacts gpu;
      gpu.uuid = name_ + "-gpu-" + std::to_string(i);
      gpu.index = i;
      gpu.type = "h100";
      gpu.memory_mib = 81920;
      hello.inventory.gpus.push_back(gpu);
    }
    message.hello = hello;
    send(message);
    said_hello_ = true;
  }

  void beat() {
    const Instant now = steady_now();
    if (!is_welcomed_ || now - beat_at_ < seconds(2)) return;
    beat_at_ = now;
    WorkerMessage message;
    message.heartbeat = true;
    send(message);
  }

  void send(const WorkerMessage& message) {
    const auto sent = session_.send(encode(message));
    if (!sent) give_up(name_ + ": " + sent.error().message);
  }

  void flush() {
    for (const std::string& packet : session_.take_outgoing(steady_now())) {
      if (!socket_->send(packet)) return;
    }
  }

  std::unique_ptr<ClientSocket> socket_;
  Session session_;
  std::string name_;
  std::uint32_t gpus_;
  bool is_dead_;
  bool said_hello_ = false;
  bool is_welcomed_ = false;
  std::uint64_t incarnation_ = 0;
  Instant beat_at_;
};

int make_keys(const std::string& directory, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    const auto key = load_or_make_key(directory + "/" + node_name(i) + ".key");
    if (!key) give_up(key.error().message);
    std::printf("[[node]]\nname = \"%s\"\nkey = '%s'\n", node_name(i).c_str(),
                key->public_key.c_str());
  }
  return 0;
}

struct RunOptions {
  std::string directory;
  std::uint64_t count = 0;
  std::string endpoint;
  std::string server_key;
  std::uint32_t gpus = 8;
  std::uint64_t dead = 0;
};

std::vector<std::unique_ptr<Worker>> connect_all(LinkContext& context, const RunOptions& options,
                                                 Poller& poller) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint64_t i = 1; i <= options.count; ++i) {
    const auto key = load_key(options.directory + "/" + node_name(i) + ".key");
    if (!key) give_up(key.error().message);
    ClientOptions client;
    client.endpoint = options.endpoint;
    client.server_key = options.server_key;
    client.key = *key;
    auto socket = ClientSocket::open(context, client);
    if (!socket) give_up(socket.error().message);
    workers.push_back(std::make_unique<Worker>(std::move(*socket), node_name(i), options.gpus,
                                               i <= options.dead));
    poller.watch(workers.back()->socket());
  }
  return workers;
}

// True when the driver closed our standard input: the end.
bool is_over() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) <= 0) return false;
  char byte = 0;
  return read(STDIN_FILENO, &byte, 1) <= 0;
}

int run(const RunOptions& options) {
  LinkContext context(1);
  Poller poller;
  auto workers = connect_all(context, options, poller);
  Counts counts;
  bool announced = false;
  Instant looked_at;
  for (;;) {
    poller.wait(20);
    std::uint64_t welcomed = 0;
    for (auto& worker : workers) {
      worker->turn(counts);
      if (worker->is_welcomed()) ++welcomed;
    }
    if (!announced && welcomed == workers.size()) {
      announced = true;
      std::printf("connected\n");
      std::fflush(stdout);
    }
    if (steady_now() - looked_at < milliseconds(50)) continue;
    looked_at = steady_now();
    if (is_over()) break;
  }
  std::printf(
      "{\"prepared\":%llu,\"launched\":%llu,\"killed\":%llu,\"last_prepare_us\":%lld,\"last_go_"
      "us\":%lld}\n",
      static_cast<unsigned long long>(counts.prepared),
      static_cast<unsigned long long>(counts.launched),
      static_cast<unsigned long long>(counts.killed),
      static_cast<long long>(counts.last_prepare.us), static_cast<long long>(counts.last_go.us));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "keys")
    return make_keys(words[1], std::strtoull(words[2].c_str(), nullptr, 10));
  if (words.size() < 5 || words[0] != "run")
    give_up("usage: bench_workers keys DIR COUNT | run DIR COUNT ENDPOINT SERVER_KEY");
  RunOptions options{words[1], std::strtoull(words[2].c_str(), nullptr, 10), words[3], words[4]};
  if (words.size() > 5)
    options.gpus = static_cast<std::uint32_t>(std::strtoul(words[5].c_str(), nullptr, 10));
  if (words.size() > 6) options.dead = std::strtoull(words[6].c_str(), nullptr, 10);
  return run(options);
}
