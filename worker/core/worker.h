// The worker of one node: follows its launcher, answers the controller. Pure and single-threaded.
//
// The launcher is the authority on what exists: after every connection it is asked for its list,
// and only a worker that has a whole list says hello, because what a hello leaves out does not
// exist. Orders that come while there is no list are dropped: the hello that follows makes the
// controller derive them again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "worker/core/held_attempt.h"

namespace muster {

constexpr std::size_t kHeldAttemptsMax = 65536;

// ---- from the launcher ----
struct LauncherConnected {};
struct LauncherSaid {
  HeldAttempt attempt;
};
struct LauncherListed {};  // The list that was asked for is complete.
struct LauncherGone {};
// ---- from the controller ----
struct ControllerMet {
};  // It knows nothing of this worker: at first, and when either side forgot what was queued.
struct ControllerWelcomed {
  Epoch epoch;
  Duration heartbeat_every;
};
struct PrepareAsked {
  AttemptKey key;
  Epoch epoch;
};
struct GoAsked {
  AttemptKey key;
  Epoch epoch;
};
struct KillAsked {
  AttemptKey key;
};
struct SignalAsked {
  AttemptKey key;
};
struct ForgetAsked {
  AttemptKey key;
};
// ---- from the clockwork ----
struct InventoryChanged {};
struct ClockTicked {};  // At least twice in every heartbeat interval.

using WorkerInput =
    std::variant<LauncherConnected, LauncherSaid, LauncherListed, LauncherGone, ControllerMet,
                 ControllerWelcomed, PrepareAsked, GoAsked, KillAsked, SignalAsked, ForgetAsked,
                 InventoryChanged, ClockTicked>;

struct WorkerOutput {
  bool ask_list = false;  // Ask the launcher for its list.
  bool pass_on = false;   // Hand the order that was the input to the launcher.
  bool say_hello =
      false;  // Tell the controller who we are and `attempts`, which are all there are.
  bool say_inventory = false;
  bool heartbeat = false;
  std::vector<HeldAttempt> attempts;  // To report, or of the hello.
  std::string remark;                 // For the log; empty: nothing odd happened.
};

class WorkerState {
 public:
  // now never goes back.
  WorkerOutput step(const WorkerInput& input, Instant now);

  bool has_list() const { return listed_; }
  bool said_hello() const { return said_hello_; }
  bool is_live(AttemptKey key) const;  // Held and not ended.
  std::size_t attempts_held() const { return held_.size(); }

 private:
  struct Held {
    HeldAttempt attempt;
    bool answered = false;  // The launcher spoke of it.
  };

  void take(const LauncherConnected&, WorkerOutput& out);
  void take(const LauncherSaid& said, WorkerOutput& out);
  void take(const LauncherListed&, WorkerOutput& out);
  void take(const LauncherGone&, WorkerOutput& out);
  void take(const ControllerMet&, WorkerOutput& out);
  void take(const ControllerWelcomed& welcome, WorkerOutput& out);
  void take(const PrepareAsked& asked, WorkerOutput& out);
  void take(const GoAsked& asked, WorkerOutput& out);
  void take(const KillAsked& asked, WorkerOutput& out);
  void take(const SignalAsked& asked, WorkerOutput& out);
  void take(const ForgetAsked& asked, WorkerOutput& out);
  void take(const InventoryChanged&, WorkerOutput& out);
  void take(const ClockTicked&, WorkerOutput& out);
  void hello(WorkerOutput& out);
  void report(const HeldAttempt& attempt, WorkerOutput& out) const;
  bool is_fenced(Epoch epoch, WorkerOutput& out);
  bool is_deaf(WorkerOutput& out) const;
  Held* find(AttemptKey key);

  std::map<AttemptKey, Held> held_;
  std::map<AttemptKey, Held> listing_;  // What came since the list was asked for.
  bool listed_ = false;
  bool hello_owed_ = false;
  bool said_hello_ = false;
  Epoch epoch_;  // Highest seen.
  Duration heartbeat_every_ = seconds(2);
  Instant now_;
  Instant said_at_;  // When the controller last heard something.
};

}  // namespace muster
