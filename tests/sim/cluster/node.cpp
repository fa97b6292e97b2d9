// The launcher's and the shepherds' half of a node, and the machine itself.
#include "tests/sim/cluster/node.h"

#include <sstream>

#include "tests/sim/cluster/wire.h"

namespace muster::sim {
namespace {

constexpr Duration kTombstoneKept = seconds(300);
constexpr Duration kLocalDelay = microseconds(50);

}  // namespace

std::string SimOrder::text() const {
  std::string text =
      muster::to_text(key) + " " + std::to_string(epoch.value) + " " + std::to_string(expiry.us);
  for (const std::string& device : devices) text += " " + device;
  return text;
}

SimOrder SimOrder::parse(const std::string& text) {
  std::istringstream words(text);
  std::string key;
  SimOrder order;
  words >> key >> order.epoch.value >> order.expiry.us;
  const Result<AttemptKey> parsed = parse_attempt_key(key);
  MUSTER_ASSERT(parsed.ok());
  order.key = *parsed;
  for (std::string device; words >> device;) order.devices.push_back(device);
  return order;
}

Node::Node(World& world, std::size_t number)
    : world_(world), number_(number), name_("n" + std::to_string(number + 1)) {}

std::function<void()> Node::alive(std::uint64_t& life, std::function<void()> what) {
  return [&life, born = life, what = std::move(what)] {
    if (born == life) what();
  };
}

// ---- the machine ----

void Node::power_on() {
  is_on_ = true;
  ++boots_;
  world_.note(name_ + " boots");
  start_launcher();
  start_worker();
}

void Node::reboot(Duration dark) {
  if (!is_on_) return;
  world_.note(name_ + " goes dark");
  is_on_ = false;
  ++boot_life_;
  for (auto& [key, shepherd] : shepherds_) {
    ++shepherd.life;
    stop_tasks(shepherd);
  }
  kill_worker(Duration{});
  kill_launcher(Duration{});
  ++worker_life_;  // Restarts that were under way are off.
  ++launcher_life_;
  world_.agenda.after(dark, alive(boot_life_, [this] { power_on(); }));
}

std::size_t Node::running() const {
  std::size_t count = 0;
  for (const auto& [key, shepherd] : shepherds_) count += shepherd.tasks_up ? 1U : 0U;
  return count;
}

// ---- the launcher ----

void Node::kill_launcher(Duration until_restart) {
  if (!launcher_up_) return;
  world_.note(name_ + " launcher dies");
  launcher_up_ = local_up_ = false;
  ++launcher_life_;
  ++local_life_;
  if (worker_) step(LauncherGone{});
  if (!is_on_) return;
  world_.agenda.after(until_restart, alive(launcher_life_, [this] { start_launcher(); }));
}

// What the disk tells: ends stay, what lived before a reboot is over.
void Node::start_launcher() {
  launcher_up_ = true;
  misremembered_.clear();
  std::vector<AttemptKey> over;
  for (const auto& [key, shepherd] : shepherds_) {
    if (shepherd.state.phase != HeldPhase::kEnded && shepherd.boot != boots_) over.push_back(key);
    if (world_.planted.double_start && shepherd.tasks_up) misremembered_.insert(key);
  }
  for (const AttemptKey& key : over) end(key, CauseKind::kNodeFailed, 0, Retry::kElsewhere);
  connect_local();
}

void Node::connect_local() {
  if (!launcher_up_ || !worker_ || local_up_) return;
  const auto connect = [this] {
    if (!launcher_up_ || !worker_ || local_up_) return;
    local_up_ = true;
    step(LauncherConnected{});
  };
  world_.agenda.after(world_.up_to(milliseconds(200)), alive(local_life_, connect));
}

void Node::to_launcher(std::function<void()> what) {
  if (local_up_) world_.agenda.after(kLocalDelay, alive(local_life_, std::move(what)));
}

void Node::tell(const HeldAttempt& attempt) {
  if (!local_up_) return;
  HeldAttempt told = attempt;
  if (misremembered_.count(told.key) != 0 && told.phase == HeldPhase::kRunning)
    told.phase = HeldPhase::kPrepared;
  world_.agenda.after(kLocalDelay, alive(local_life_, [this, told] { step(LauncherSaid{told}); }));
}

void Node::launcher_list() {
  for (const auto& [key, shepherd] : shepherds_) tell(shepherd.state);
  world_.agenda.after(kLocalDelay, alive(local_life_, [this] { step(LauncherListed{}); }));
}

void Node::refuse(const SimOrder& order, const std::string& why) {
  HeldAttempt ended{order.key, HeldPhase::kEnded, order.epoch, {}, ExitRecord{}};
  ended.record->cause.kind = CauseKind::kLaunchFailed;
  ended.record->cause.retry = Retry::kElsewhere;
  ended.record->cause.evidence = why;
  tell(ended);
}

void Node::launcher_prepare(const SimOrder& order) {
  const auto known = shepherds_.find(order.key);
  if (known != shepherds_.end()) return tell(known->second.state);
  const auto tombstone = tombstones_.find(order.key);
  if (tombstone != tombstones_.end() && world_.now() < tombstone->second)
    return refuse(order, "tombstone");
  if (order.epoch < epoch_) return refuse(order, "epoch is over");
  if (world_.now() > order.expiry) return refuse(order, "order has expired");
  epoch_ = order.epoch;
  Shepherd& shepherd = shepherds_[order.key];
  shepherd.state = {order.key, HeldPhase::kPreparing, order.epoch, {}, {}};
  shepherd.devices = order.devices;
  shepherd.boot = boots_;
  tell(shepherd.state);
  const AttemptKey key = order.key;
  if (!world_.healed && world_.rng.chance(30)) {
    return set_timer(key, milliseconds(5),
                     [this, key] { end(key, CauseKind::kLaunchFailed, 0, Retry::kElsewhere); });
  }
  set_timer(key, world_.up_to(milliseconds(50)), [this, key] {
    Shepherd& ready = shepherds_.at(key);
    ready.state.phase = HeldPhase::kPrepared;
    ready.state.ports = {29500};
    tell(ready.state);
  });
}

void Node::launcher_go(const SimOrder& order) {
  const auto known = shepherds_.find(order.key);
  if (known == shepherds_.end() || order.epoch < epoch_) return;
  epoch_ = order.epoch;
  const bool is_late = world_.now() > order.expiry;
  if (known->second.state.phase == HeldPhase::kPrepared && is_late) {
    return end(order.key, CauseKind::kLaunchFailed, 0, Retry::kElsewhere);
  }
  if (misremembered_.erase(order.key) != 0) return start_tasks(order.key);
  if (known->second.state.phase == HeldPhase::kPrepared) return start_tasks(order.key);
  tell(known->second.state);
}

void Node::launcher_kill(AttemptKey key, Duration grace) {
  const auto known = shepherds_.find(key);
  if (known == shepherds_.end()) {
    tombstones_[key] = world_.now() + kTombstoneKept;
    SimOrder none;
    none.key = key;
    return refuse(none, "killed before it came");
  }
  Shepherd& shepherd = known->second;
  if (shepherd.state.phase == HeldPhase::kEnded) return tell(shepherd.state);
  if (shepherd.state.phase == HeldPhase::kStopping) return;
  if (!shepherd.tasks_up) return end(key, CauseKind::kCancelled, 0, Retry::kNo);
  shepherd.state.phase = HeldPhase::kStopping;
  tell(shepherd.state);
  set_timer(key, world_.up_to(grace + milliseconds(10)),
            [this, key] { end(key, CauseKind::kCancelled, 0, Retry::kNo); });
}

void Node::launcher_forget(AttemptKey key) {
  const auto known = shepherds_.find(key);
  if (known == shepherds_.end() || known->second.state.phase != HeldPhase::kEnded) return;
  tombstones_[key] = world_.now() + kTombstoneKept;
  shepherds_.erase(known);
}

// ---- the shepherds ----

void Node::set_timer(AttemptKey key, Duration wait, std::function<void()> what) {
  const std::uint64_t life = ++shepherds_.at(key).life;
  world_.agenda.after(wait, [this, key, life, what = std::move(what)] {
    const auto found = shepherds_.find(key);
    if (found != shepherds_.end() && found->second.life == life) what();
  });
}

void Node::start_tasks(AttemptKey key) {
  Shepherd& shepherd = shepherds_.at(key);
  world_.note(name_ + " starts " + muster::to_text(key));
  world_.checker.started(name_, key, shepherd.devices);
  shepherd.started = shepherd.tasks_up = true;
  shepherd.state.phase = HeldPhase::kRunning;
  tell(shepherd.state);
  const bool fails = !world_.healed && world_.rng.chance(100);
  set_timer(key, world_.up_to(seconds(20)), [this, key, fails] {
    end(key, fails ? CauseKind::kExited : CauseKind::kCompleted, fails ? 3 : 0, Retry::kNo);
  });
}

void Node::stop_tasks(Shepherd& shepherd) {
  if (!shepherd.tasks_up) return;
  shepherd.tasks_up = false;
  world_.checker.stopped(name_, shepherd.state.key, shepherd.devices);
}

void Node::end(AttemptKey key, CauseKind kind, std::int32_t status, Retry retry) {
  Shepherd& shepherd = shepherds_.at(key);
  ++shepherd.life;
  stop_tasks(shepherd);
  world_.note(name_ + " ends " + muster::to_text(key) + " " + std::string(name_of(kind)));
  shepherd.state.phase = HeldPhase::kEnded;
  ExitRecord& record = shepherd.state.record.emplace();
  record.cause.kind = kind;
  record.cause.exit_status = status;
  record.cause.retry = retry;
  record.launched = shepherd.started;
  tell(shepherd.state);
}

void Node::kill_shepherd() {
  for (const auto& [key, shepherd] : shepherds_) {
    if (!shepherd.tasks_up || !world_.rng.chance(500)) continue;
    return end(AttemptKey(key), CauseKind::kShepherdFailed, 0, Retry::kAnywhere);
  }
}

}  // namespace muster::sim
