// Workers that keep their word: they prepare, run, end and remember attempts as orders come in.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/core/world.h"

namespace muster {

struct FakeWorker {
  std::string name;
  std::string boot = "boot-1";
  Inventory inventory;
  bool connected = false;
  bool fails_prepare = false;
  bool deaf = false;  // Takes orders and says nothing.
  std::map<AttemptKey, AttemptReport> attempts;
  std::set<AttemptKey> ever_launched;
  std::deque<AttemptReport> outbox;

  AttemptReport& at(const AttemptKey& key, Epoch epoch) {
    AttemptReport& report = attempts[key];
    report.key = key;
    report.epoch = epoch;
    return report;
  }
  void say(const AttemptReport& report) { outbox.push_back(report); }

  void end(const AttemptKey& key, CauseKind kind, std::int32_t status = 0,
           Retry retry = Retry::kNo) {
    const auto found = attempts.find(key);
    if (found == attempts.end() || found->second.phase == AttemptPhase::kEnded) return;
    ExitRecord record;
    record.launched = found->second.phase == AttemptPhase::kRunning;
    record.cause.kind = kind;
    record.cause.exit_status = status;
    record.cause.retry = retry;
    end_with(key, record);
  }
  void end_with(const AttemptKey& key, const ExitRecord& record) {
    const auto found = attempts.find(key);
    if (found == attempts.end() || found->second.phase == AttemptPhase::kEnded) return;
    found->second.phase = AttemptPhase::kEnded;
    found->second.record = record;
    say(found->second);
  }

  void take(const SendPrepare& order, Epoch epoch) {
    if (attempts.count(order.key) != 0) return say(attempts[order.key]);
    AttemptReport& report = at(order.key, epoch);
    report.phase = AttemptPhase::kPrepared;
    report.ports = {29500};
    if (fails_prepare) return end(order.key, CauseKind::kLaunchFailed, 0, Retry::kElsewhere);
    say(report);
  }
  void take(const SendGo& order, Epoch) {
    const auto found = attempts.find(order.key);
    if (found == attempts.end()) return say({order.key, AttemptPhase::kUnknown, {}, {}, {}});
    if (found->second.phase == AttemptPhase::kPrepared) {
      found->second.phase = AttemptPhase::kRunning;
      MUSTER_ASSERT(ever_launched.insert(order.key).second);
    }
    say(found->second);
  }
  void take(const SendKill& order, Epoch epoch) {
    if (attempts.count(order.key) == 0)
      at(order.key, epoch).phase = AttemptPhase::kPreparing;  // A tombstone.
    end(order.key, CauseKind::kCancelled);
  }
  void take(const SendSignal&, Epoch) {}
  void take(const SendForget& order, Epoch) { attempts.erase(order.key); }

  void reboot() {
    boot += "'";
    connected = false;
    attempts.clear();
    outbox.clear();
  }
};

class FakeFleet {
 public:
  explicit FakeFleet(World& world) : world_(world) {}

  void add(const std::string& name, const Inventory& inventory) {
    world_.step(EnrolNode{World::admin(), name, std::string(40, 'k')});
    FakeWorker worker;
    worker.name = name;
    worker.inventory = inventory;
    workers_[name] = worker;
    hello(name);
  }

  FakeWorker& at(const std::string& name) { return workers_.at(name); }
  std::map<std::string, FakeWorker>& workers() { return workers_; }

  void hello(const std::string& name) {
    FakeWorker& worker = workers_.at(name);
    worker.connected = true;
    worker.outbox.clear();
    std::vector<AttemptReport> all;
    for (const auto& [key, report] : worker.attempts) all.push_back(report);
    step(WorkerHello{name, worker.boot, 1, worker.inventory, all});
  }
  void lose(const std::string& name) {
    workers_.at(name).connected = false;
    workers_.at(name).outbox.clear();
    step(WorkerLost{name});
  }

  Outcome step(const Command& command) {
    Outcome out = world_.step(command);
    for (const Effect& effect : out.effects) {
      std::visit([&](const auto& order) { deliver(order); }, effect);
    }
    return out;
  }

  // One waiting report of that worker reaches the controller.
  bool speak(const std::string& name) {
    FakeWorker& worker = workers_.at(name);
    if (!worker.connected || worker.deaf || worker.outbox.empty()) return false;
    const AttemptReport report = worker.outbox.front();
    worker.outbox.pop_front();
    step(WorkerReport{name, {report}});
    return true;
  }
  // Everything that is to be said is said, and passes are run, until nothing moves any more.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      while (world_.pass_wanted) step(SchedulePass{});
      for (auto& [name, worker] : workers_) {
        while (speak(name)) {
          moved = true;
          while (world_.pass_wanted) step(SchedulePass{});
        }
      }
    }
  }

 private:
  template <class Order>
  void deliver(const Order& order) {
    const Node* node = world_.engine.cluster().find_node(order.node);
    if (node == nullptr) return;
    FakeWorker& worker = workers_.at(node->name);
    if (worker.connected) worker.take(order, world_.engine.cluster().epoch());
  }

  World& world_;
  std::map<std::string, FakeWorker> workers_;
};

}  // namespace muster
