// The launcher's loop: workers on one side, shepherds on the other, the store below.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/order/local_channel.h"
#include "worker/launcher/admit.h"
#include "worker/launcher/ports.h"
#include "worker/launcher/settings.h"
#include "worker/launcher/spawn.h"
#include "worker/launcher/store.h"

namespace muster {

class Launcher {
 public:
  // kConflict, kInvalid or kUnavailable with a text for people when it cannot start.
  static Result<std::unique_ptr<Launcher>> open(const LauncherSettings& settings);
  // One turn: waits at most timeout_ms for something to do, and does it. An error ends the program.
  Result<void> turn(int timeout_ms);
  // Reads the pinned keys again and lets the next shepherd be of the program that is there now.
  void reload();
  // Call last. Removes our control groups when no attempt is left.
  void leave();

 private:
  enum class Link { kNone, kShepherd, kReaper };
  struct Attempt {
    LocalState state;
    Fd directory;
    std::unique_ptr<LocalChannel> channel;  // To its shepherd, or to the reaper of a dead one.
    Link link = Link::kNone;
    std::string token;
    std::int64_t expiry_s = 0;         // Of its order.
    std::int64_t adopt_until_ms = 0;   // While we look for its shepherd after a restart.
    std::vector<std::string> waiting;  // Frames for the shepherd while it is looked for.
    bool is_guess = false;             // After a restart, until its shepherd or its record spoke.
    bool was_running = false;
    Cause end;  // Why, when it is not its shepherd that writes it.

    void blame(CauseKind kind, Retry retry, std::string evidence) {
      end.kind = kind;
      end.retry = retry;
      end.evidence = std::move(evidence);
    }
  };
  struct Worker {
    std::unique_ptr<LocalChannel> channel;
    std::uint64_t id = 0;
    bool greeted = false;
    bool wants_list = false;
  };
  struct LogAsk {
    std::uint64_t worker = 0;
    std::uint64_t number = 0;
    AttemptKey key;  // Whose shepherd answers.
  };
  struct Order {
    LocalPrepare prepare;
    Admitted admitted;
    Fd directory;
    std::vector<HeldPort> ports;
  };

  Launcher(const LauncherSettings& settings, PinnedKeys keys, Store store);

  // The control group below which to make those of jobs, a path in the v2 tree: --cgroup, or what
  // we were started in if it is ours alone; we move into a leaf of it, as groups with controllers
  // hold no processes. "" is the top: where v1 has the controllers, and in single-user mode.
  static Result<std::string> settle(const LauncherSettings& settings);
  // After a restart.
  void recover();
  void look_for_shepherd(const AttemptKey& key, Attempt& attempt);
  bool connect_shepherd(const AttemptKey& key, Attempt& attempt, const ShepherdRecord& record);
  void look_again(std::int64_t now_ms);
  void settle_reboot();
  void reap(const AttemptKey& key, Attempt& attempt);
  bool end_unclaimed(const AttemptKey& key, Attempt& attempt);

  // Workers.
  void accept_worker();
  void read_worker(Worker& worker);
  Result<void> obey(Worker& worker, const LocalFrame& frame);
  void prepare(Worker& worker, LocalPrepare message);
  Result<Order> admit(LocalPrepare message);
  Result<void> start_orders();
  void start(Order& order);
  void go(Worker& worker, const LocalFrame& frame, const LocalGo& message);
  void end_unstarted(Attempt& attempt, const std::string& why);
  void kill(const LocalFrame& frame, const LocalKill& message);
  void pass_on(const AttemptKey& key, const LocalFrame& frame);
  void forget_ended();
  void answer_lists();
  void open_log(Worker& worker, const LocalLogOpen& message);
  void answer_log(std::uint64_t number, LocalLogOpened answer, Fd file);

  // Shepherds.
  void read_shepherd(const AttemptKey& key, Attempt& attempt);
  void note_state(Attempt& attempt, LocalState state);
  void note_gone(const AttemptKey& key, Attempt& attempt);
  void note_ended(const AttemptKey& key, Attempt& attempt, const ExitFile& file);

  void push(const LocalState& state);
  static void send(Worker& worker, const LocalState& state);
  void refuse(Worker& worker, const AttemptKey& key, const std::string& why);
  void say(const AttemptKey& key, const std::string& text) const;
  std::vector<int> directories_of(const Attempt& attempt) const;
  ShepherdSpec spec_for(const AttemptKey& key, ShepherdMode mode) const;
  std::vector<pollfd> polls();

  LauncherSettings settings_;
  Gatekeeper gate_;
  Store store_;
  Spawner spawner_;
  PortLedger ports_;
  std::string cgroup_group_;
  Fd listen_;
  std::vector<Worker> workers_;
  std::map<AttemptKey, Attempt> attempts_;
  std::vector<Order> orders_;     // Recorded, waiting for the sync of this turn.
  std::set<AttemptKey> forgets_;  // Of this turn.
  std::map<std::uint64_t, LogAsk> log_asks_;
  std::uint64_t next_id_ = 1;
  bool was_rebooted_ = false;  // And attempts of before still wait for their exit record.
};

// Tells systemd that we are ready and alive; nothing when it did not start us.
void notify_service_manager(const char* text);

}  // namespace muster
