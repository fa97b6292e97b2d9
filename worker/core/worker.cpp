// What a worker makes of what it hears.
#include "worker/core/worker.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr Duration kHeartbeatMin = milliseconds(100);
constexpr Duration kHeartbeatMax = minutes(1);

}  // namespace

WorkerOutput WorkerState::step(const WorkerInput& input, Instant now) {
  MUSTER_ASSERT(now >= now_);
  now_ = now;
  WorkerOutput out;
  std::visit([&](const auto& one) { take(one, out); }, input);
  if (out.say_hello || out.say_inventory || out.heartbeat || !out.attempts.empty()) said_at_ = now;
  return out;
}

bool WorkerState::is_live(AttemptKey key) const {
  const auto found = held_.find(key);
  return found != held_.end() && found->second.attempt.phase != HeldPhase::kEnded;
}

WorkerState::Held* WorkerState::find(AttemptKey key) {
  const auto found = held_.find(key);
  return found == held_.end() ? nullptr : &found->second;
}

void WorkerState::take(const LauncherConnected&, WorkerOutput& out) {
  listed_ = false;
  listing_.clear();
  out.ask_list = true;
}

void WorkerState::take(const LauncherSaid& said, WorkerOutput& out) {
  const AttemptKey key = said.attempt.key;
  if (!is_sound(said.attempt)) {
    out.remark = "launcher: an end without a record, or a record without an end: " + to_text(key);
    return;
  }
  std::map<AttemptKey, Held>& known = listed_ ? held_ : listing_;
  const auto [found, is_new] = known.try_emplace(key, Held{said.attempt, true});
  Held& held = found->second;
  const HeldAttempt before = held.attempt;
  if (!advance(held.attempt, said.attempt)) {
    out.remark = "launcher: " + to_text(key) + " cannot go from " +
                 std::string(name_of(before.phase)) + " to " +
                 std::string(name_of(said.attempt.phase));
    return;
  }
  const bool is_news = is_new || !held.answered || held.attempt != before;
  held.answered = true;
  if (listed_ && is_news) report(held.attempt, out);
}

// What the list leaves out is gone, but an end that was told is never taken back.
void WorkerState::take(const LauncherListed&, WorkerOutput& out) {
  if (listed_) return;
  listed_ = true;
  for (auto& [key, old] : held_) {
    const auto found = listing_.find(key);
    if (found == listing_.end()) {
      if (old.attempt.phase == HeldPhase::kEnded) listing_.emplace(key, std::move(old));
    } else if (!advance(old.attempt, found->second.attempt)) {
      out.remark = "launcher: " + to_text(key) + " went back from " +
                   std::string(name_of(old.attempt.phase)) + " to " +
                   std::string(name_of(found->second.attempt.phase));
      if (old.attempt.phase == HeldPhase::kEnded) found->second = std::move(old);
    }
  }
  held_ = std::move(listing_);
  listing_.clear();
  if (hello_owed_ || said_hello_) hello(out);
}

void WorkerState::take(const LauncherGone&, WorkerOutput&) {
  listed_ = false;
  listing_.clear();
  std::erase_if(held_, [](const auto& entry) { return !entry.second.answered; });
}

void WorkerState::take(const ControllerMet&, WorkerOutput& out) {
  said_hello_ = false;
  hello_owed_ = true;
  if (listed_) hello(out);
}

void WorkerState::take(const ControllerWelcomed& welcome, WorkerOutput& out) {
  heartbeat_every_ = std::clamp(welcome.heartbeat_every, kHeartbeatMin, kHeartbeatMax);
  (void)is_fenced(welcome.epoch, out);
}

bool WorkerState::is_fenced(Epoch epoch, WorkerOutput& out) {
  epoch_ = std::max(epoch_, epoch);
  if (epoch == epoch_) return false;
  out.remark = "controller: epoch " + std::to_string(epoch.value) + " speaks, but " +
               std::to_string(epoch_.value) + " was heard before; ignored";
  return true;
}

bool WorkerState::is_deaf(WorkerOutput& out) const {
  if (listed_) return false;
  out.remark = "order dropped: the launcher is away";
  return true;
}

void WorkerState::take(const PrepareAsked& asked, WorkerOutput& out) {
  if (is_fenced(asked.epoch, out) || is_deaf(out)) return;
  if (const Held* held = find(asked.key); held != nullptr) {
    if (held->answered) report(held->attempt, out);
    return;
  }
  if (held_.size() >= kHeldAttemptsMax) {
    out.remark = "order dropped: this node holds too many attempts: " + to_text(asked.key);
    return;
  }
  held_.emplace(asked.key, Held{{asked.key, HeldPhase::kPreparing, asked.epoch, {}, {}}, false});
  out.pass_on = true;
}

void WorkerState::take(const GoAsked& asked, WorkerOutput& out) {
  if (is_fenced(asked.epoch, out) || is_deaf(out)) return;
  const Held* held = find(asked.key);
  if (held != nullptr && held->attempt.phase > HeldPhase::kPrepared) {
    report(held->attempt, out);
    return;
  }
  out.pass_on = true;
}

void WorkerState::take(const KillAsked& asked, WorkerOutput& out) {
  if (is_deaf(out)) return;
  const Held* held = find(asked.key);
  if (held != nullptr && held->attempt.phase == HeldPhase::kEnded) {
    report(held->attempt, out);
    return;
  }
  out.pass_on = true;
}

void WorkerState::take(const SignalAsked& asked, WorkerOutput& out) {
  out.pass_on = !is_deaf(out) && is_live(asked.key);
}

void WorkerState::take(const ForgetAsked& asked, WorkerOutput& out) {
  if (is_deaf(out)) return;
  if (is_live(asked.key)) {
    out.remark =
        "controller: wants " + to_text(asked.key) + " forgotten, which has not ended; ignored";
    return;
  }
  held_.erase(asked.key);
  out.pass_on = true;
}

void WorkerState::take(const InventoryChanged&, WorkerOutput& out) {
  out.say_inventory = said_hello_;
}

void WorkerState::take(const ClockTicked&, WorkerOutput& out) {
  out.heartbeat = said_hello_ && now_ - said_at_ >= heartbeat_every_;
}

void WorkerState::hello(WorkerOutput& out) {
  hello_owed_ = false;
  said_hello_ = true;
  out.say_hello = true;
  out.attempts.clear();
  for (const auto& [key, held] : held_) out.attempts.push_back(held.attempt);
}

void WorkerState::report(const HeldAttempt& attempt, WorkerOutput& out) const {
  if (said_hello_) out.attempts.push_back(attempt);
}

}  // namespace muster
