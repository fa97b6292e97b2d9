// A compute node: the real pure worker over a real session; a launcher and shepherds that keep
// their promises (claims and ends on disk, tasks that outlive both processes); a machine that can
// be reset.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/message/worker.h"
#include "base/session/session.h"
#include "tests/sim/cluster/world.h"
#include "worker/core/worker.h"

namespace muster::sim {

// What stands for a signed order here.
struct SimOrder {
  AttemptKey key;
  Epoch epoch;
  Instant expiry;
  std::vector<std::string> devices;
  std::string text() const;
  static SimOrder parse(const std::string& text);
};

class Node {
 public:
  Node(World& world, std::size_t number);
  void power_on();

  // ---- trouble ----
  void kill_worker(Duration until_restart);
  void kill_launcher(Duration until_restart);
  void kill_shepherd();  // Of any running attempt.
  void reboot(Duration dark);

  // ---- the wire ----
  void connected();
  void receive(const std::string& packet);

  const std::string& name() const { return name_; }
  bool is_worker_up() const { return worker_.has_value(); }
  std::size_t running() const;

 private:
  // One attempt as the launcher's disk and its shepherd know it.
  struct Shepherd {
    HeldAttempt state;
    std::vector<std::string> devices;
    bool started = false;  // Tasks ran.
    bool tasks_up = false;
    std::uint64_t boot = 0;  // The one it lives in.
    std::uint64_t life = 0;  // Timers of an earlier phase do not count.
  };
  struct Worker {
    explicit Worker(std::uint64_t incarnation) : session(incarnation) {}
    WorkerState state;
    Session session;
  };

  // ---- launcher ----
  void start_launcher();
  void connect_local();
  void launcher_prepare(const SimOrder& order);
  void launcher_go(const SimOrder& order);
  void launcher_kill(AttemptKey key, Duration grace);
  void launcher_forget(AttemptKey key);
  void launcher_list();
  void refuse(const SimOrder& order, const std::string& why);
  void tell(const HeldAttempt& attempt);
  void to_launcher(std::function<void()> what);
  // ---- shepherds ----
  void start_tasks(AttemptKey key);
  void stop_tasks(Shepherd& shepherd);
  void end(AttemptKey key, CauseKind kind, std::int32_t status, Retry retry);
  void set_timer(AttemptKey key, Duration wait, std::function<void()> what);
  // ---- worker ----
  void start_worker();
  void step(const WorkerInput& input, std::function<void()> order = {});
  void say(const WorkerMessage& message);
  void flush();
  void turn();
  void take(const ControllerMessage& message);
  std::function<void()> alive(std::uint64_t& life, std::function<void()> what);

  World& world_;
  std::size_t number_;
  std::string name_;
  std::uint64_t boots_ = 0;
  bool is_on_ = false;

  // On disk.
  std::uint64_t incarnation_ = 0;
  Epoch epoch_;  // Highest obeyed.
  std::map<AttemptKey, Shepherd> shepherds_;
  std::map<AttemptKey, Instant> tombstones_;  // Until when an order for it is refused.

  // In memory.
  bool launcher_up_ = false;
  std::set<AttemptKey> misremembered_;  // The planted bug: believed to be only prepared.
  std::optional<Worker> worker_;
  std::uint64_t worker_life_ = 0;
  std::uint64_t launcher_life_ = 0;
  std::uint64_t local_life_ = 0;  // Of the connection between the two.
  std::uint64_t boot_life_ = 0;
  bool local_up_ = false;
};

}  // namespace muster::sim
