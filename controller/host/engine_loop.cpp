// Commands in, records and effects out.
#include "controller/host/engine_loop.h"

#include <chrono>

#include "controller/record/event_codec.h"

namespace muster {

namespace {

// With the state disk nearly full, what adds state is refused; cancels and the ends of jobs go on.
bool adds_state(const Command& command) { return std::holds_alternative<SubmitJobs>(command); }

}  // namespace

EngineLoop::EngineLoop(Engine& engine, Disk& disk, Outbox& outbox, const Clock& clock)
    : engine_(engine), disk_(disk), outbox_(outbox), clock_(clock), starts_(engine.starts()) {}

EngineLoop::~EngineLoop() { stop(); }

void EngineLoop::start() {
  thread_ = std::thread([this] { run(); });
}

void EngineLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool EngineLoop::push(QueuedCommand command) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queued_.commands.size() >= kCommandsQueuedMax) return false;
    queued_.commands.push_back(std::move(command));
    if (queued_.commands.size() > 1) return true;  // Somebody woke it already.
  }
  woken_.notify_one();
  return true;
}

bool EngineLoop::look(EngineLook look) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queued_.looks.size() >= kCommandsQueuedMax) return false;
    queued_.looks.push_back(std::move(look));
  }
  woken_.notify_one();
  return true;
}

std::shared_ptr<const StartTable> EngineLoop::starts() const {
  const std::lock_guard lock(mutex_);
  return starts_;
}

EngineLoop::Queued EngineLoop::take(Duration patience) {
  std::unique_lock lock(mutex_);
  const auto something = [&] {
    return stopping_ || !queued_.commands.empty() || !queued_.looks.empty();
  };
  if (patience > Duration{})
    woken_.wait_for(lock, std::chrono::microseconds(patience.us), something);
  Queued taken;
  std::swap(taken, queued_);
  return taken;
}

void EngineLoop::run() {
  for (;;) {
    Queued taken = take(pass_wanted_ || estimate_wanted_ ? Duration{} : kTickEvery);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    for (QueuedCommand& command : taken.commands) step(command);
    for (const EngineLook& look : taken.looks) look(engine_, clock_.now());
    if (pass_wanted_) {
      QueuedCommand pass{SchedulePass{}, {}};
      pass_wanted_ = false;  // The pass itself says when it stopped at its budget.
      step(pass);
    }
    const Instant now = clock_.now().at;
    const bool ticks = now - ticked_at_ >= kTickEvery;
    const bool idle = taken.commands.empty() && !pass_wanted_;
    // Where it is never idle, a slice with each tick.
    if (estimate_wanted_ && (idle || ticks)) {
      estimate_wanted_ = false;
      QueuedCommand slice{EstimateStarts{}, {}};
      step(slice);
      const std::lock_guard lock(mutex_);
      starts_ = engine_.starts();
    }
    if (ticks) {
      ticked_at_ = now;
      QueuedCommand tick{Tick{}, {}};
      step(tick);
    }
    if (disk_.wants_rotation()) seal_segment();
    flush();
  }
}

void EngineLoop::step(QueuedCommand& queued) {
  OutboxItem item;
  if (adds_state(queued.command) && disk_.is_nearly_full()) {
    item.reply.error = fail(
        ErrorCode::kLimit,
        "submit: the controller's state disk is full; nothing was queued; ask an administrator to "
        "make room, then submit again");
  } else {
    Outcome outcome = engine_.step(queued.command, clock_.now());
    pass_wanted_ = pass_wanted_ || outcome.pass_wanted;
    estimate_wanted_ = estimate_wanted_ || outcome.estimate_wanted;
    if (outcome.record.has_value()) {
      disk_.append(outcome.record->seq.value, encode_record(*outcome.record));
    }
    item.errands = errands_of(outcome.effects, engine_);
    item.reply = std::move(outcome.reply);
    item.change = source_.take(engine_);
  }
  item.after = engine_.seq_last();
  item.change.seq = item.after;
  item.epoch = engine_.cluster().epoch();
  item.reply_to = std::move(queued.reply_to);
  if (!item.reply_to && item.errands.empty() && item.change.empty()) return;
  made_.push_back(std::move(item));
}

void EngineLoop::flush() {
  outbox_.add(std::move(made_));
  made_.clear();
}

void EngineLoop::seal_segment() {
  QueuedCommand seal{SealSegment{}, {}};
  step(seal);
  disk_.rotate();
  if (sealed_) sealed_();
}

}  // namespace muster
