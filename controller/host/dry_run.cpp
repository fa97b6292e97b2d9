// Slice after slice.
#include "controller/host/dry_run.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "controller/core/decide/start_trial.h"

namespace muster {
namespace {

// Counts one that is under way, as long as it is.
class Turnstile {
 public:
  Turnstile() : taken_(under_way().fetch_add(1) < kTrialsMax) {}
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;
  ~Turnstile() { under_way().fetch_sub(1); }
  bool is_taken() const { return taken_; }

 private:
  static std::atomic<int>& under_way() {
    static std::atomic<int> count{0};
    return count;
  }
  bool taken_;
};

struct Trial {
  Turnstile slot;
  std::shared_ptr<StartTrial> run;
  std::function<void(std::optional<TrialReply>)> tell;
};

TrialReply reply_of(const TrialAnswer& answer, Now now) {
  const auto wall = [&](Instant at) {
    return WallTime{now.wall.us + std::max((at - now.at).us, std::int64_t{0})};
  };
  TrialReply reply;
  reply.fits_now = answer.fits_now;
  if (answer.start) {
    reply.start_p50 = wall(answer.start->half);
    reply.start_p90 = wall(answer.start->most);
  }
  for (const Sooner& one : answer.sooner)
    reply.sooner.push_back({one.options, wall(one.start.half), wall(one.start.most)});
  return reply;
}

void go_on(EngineLoop& loop, const std::shared_ptr<Trial>& trial) {
  const bool queued = loop.look([&loop, trial](const Engine& engine, Now now) {
    if (!engine.advance_trial(*trial->run)) return go_on(loop, trial);
    if (!trial->run->has_answer()) return trial->tell(std::nullopt);
    trial->tell(reply_of(trial->run->answer(), now));
  });
  if (!queued) trial->tell(std::nullopt);
}

}  // namespace

void try_start(EngineLoop& engine, const Requester& who, const JobSpec& spec,
               std::function<void(std::optional<TrialReply>)> tell) {
  auto trial = std::make_shared<Trial>();
  trial->tell = std::move(tell);
  if (!trial->slot.is_taken()) return trial->tell(std::nullopt);
  const bool queued = engine.look([&engine, trial, who, spec](const Engine& core, Now now) {
    trial->run = core.begin_trial(who, spec, now.at);
    go_on(engine, trial);
  });
  if (!queued) trial->tell(std::nullopt);
}

}  // namespace muster
