// The queue's one brain: step() decides and applies, replay() only applies. Pure: time is an
// argument, effects are values. One thread owns an Engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/command.h"
#include "controller/core/effect.h"
#include "controller/core/event.h"
#include "controller/core/liveness.h"
#include "controller/core/standing.h"
#include "controller/core/verdict.h"

namespace muster {

struct StartTable;  // decide/estimate.h
class StartTrial;   // decide/start_trial.h
struct LicenceUse;  // decide/licences.h

struct Now {
  Instant at;
  WallTime wall;
};

// What one command led to. The caller writes `record` (when there is one) to the journal and
// releases `reply` and `effects` only when it is durable; without a record both may go as soon as
// all earlier records are durable.
struct Outcome {
  Reply reply;
  std::optional<Record> record;
  std::vector<Effect> effects;
  bool pass_wanted =
      false;  // Something changed that a SchedulePass should look at, or one stopped at its budget.
  bool estimate_wanted = false;  // An EstimateStarts is due, when there is nothing else to do.
};

// What readers must be told: ids whose rows changed since the last take_changes().
struct Changes {
  std::set<JobId> jobs;
  std::set<ElementKey> elements;  // Of these jobs: whose attempt changed, began or ended.
  std::set<NodeId> nodes;
  bool config = false;
  bool reservations = false;
};

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Restart: first load() a snapshot's cluster (optional), then replay() every later record in
  // order.
  void load(Cluster cluster, Seq seq);
  void replay(const Record& record);

  // Must see BeginEpoch first; any other command before it is a bug. now.at never goes back.
  Outcome step(const Command& command, Now now);

  // Why an element does not run, from the ledger as it is now; null when it is not pending or held.
  std::optional<Explanation> explain(ElementKey key, Instant now) const;
  // When pending jobs are likely to start, as of the last look ahead. Never null.
  std::shared_ptr<const StartTable> starts() const;
  // Why the elements of the job that are kWaiting wait.
  WaitReason wait_reason(JobId job) const;
  // Whether, and where, the job would start now; nothing is changed. For --dry-run.
  Verdict would_place(const Requester& who, const JobSpec& spec) const;
  // The same in the future, and what could be asked for to start sooner: made by begin_trial(),
  // advanced in slices until true. Nothing is changed. Between two steps, as all of this.
  std::shared_ptr<StartTrial> begin_trial(const Requester& who, const JobSpec& spec,
                                          Instant now) const;
  bool advance_trial(StartTrial& trial) const;
  // Who used how much of their share, and what jobs' turns are counted from, up to now. Costs by
  // accounts and users.
  Standing standing(Instant now) const;
  // How many of each licence there are, and what running jobs hold of them. By name.
  std::vector<LicenceUse> licences() const;

  const Cluster& cluster() const;
  const Liveness& liveness() const;
  Seq seq_last() const;  // Of the last record made or replayed.
  Changes take_changes();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
