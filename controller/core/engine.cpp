// The engine: which command is decided where, and what a step leaves behind.
#include "controller/core/engine.h"

#include <algorithm>

#include "controller/core/config_check.h"
#include "controller/core/decide/explain.h"
#include "controller/core/decide/start_trial.h"
#include "controller/core/fleet.h"
#include "controller/core/gang.h"
#include "controller/core/gate.h"
#include "controller/core/reserve.h"
#include "controller/core/seed_usage.h"
#include "controller/core/step.h"
#include "controller/core/submit.h"
#include "controller/core/verbs.h"

namespace muster {
namespace {

constexpr std::size_t kForgottenPerTickMax = 1000;
constexpr std::size_t kForgettingLooksMax = 10000;

// What readers must be told of an event.
struct NoteChange {
  Changes& changes;
  void operator()(const ConfigApplied&) const { changes.config = true; }
  void operator()(const NodeEnrolled& event) const { changes.nodes.insert(event.node); }
  void operator()(const NodeReported& event) const { changes.nodes.insert(event.node); }
  void operator()(const NodeStateChanged& event) const { changes.nodes.insert(event.node); }
  void operator()(const NodeRemoved& event) const { changes.nodes.insert(event.node); }
  void operator()(const AttemptStarted& event) const {
    changes.jobs.insert(event.key.job);
    changes.elements.insert(event.key.element_key());
    for (const Member& member : event.place.members) changes.nodes.insert(member.node);
  }
  void operator()(const ReservationSet&) const { changes.reservations = true; }
  void operator()(const ReservationRemoved&) const { changes.reservations = true; }
  void operator()(const EpochBegun&) const {}
  void operator()(const SegmentSealed&) const {}
  void operator()(const StartsEstimated&) const {}
  void operator()(const UsageSet&) const {}
  void operator()(const RoomFreed&) const {}
  void operator()(const BoardRebuilt&) const {}
  template <class Other>
  void operator()(const Other& event) const {
    if constexpr (requires { event.key; }) {
      changes.jobs.insert(event.key.job);
      changes.elements.insert(event.key.element_key());
    } else {
      changes.jobs.insert(event.job);
    }
  }
};

Result<void> check_applied(const Step& step, const ClusterConfig& config, ConfigSource source) {
  if (const Result<void> checked = check_config(config); !checked) return checked;
  return source == ConfigSource::kStart ? Result<void>() : check_in_use(step.cluster(), config);
}

void apply_config(Step& step, const ApplyConfig& command) {
  if (command.who.role != Role::kAdmin) {
    return step.refuse(
        fail(ErrorCode::kConflict, "only an administrator may apply a configuration"));
  }
  const ClusterConfig& now = step.cluster().config();
  if (command.source == ConfigSource::kObjects && command.based_on != now.version) {
    return step.refuse(
        fail(ErrorCode::kConflict, "the configuration has changed meanwhile; try again"));
  }
  ClusterConfig config = command.config;
  if (command.source == ConfigSource::kFile || command.source == ConfigSource::kStart) {
    config = join_run_time(now, std::move(config), step.out().reply.notes);
    if (!step.out().reply.notes.empty())
      step.note(
          "gpuadmin reload --force takes the file alone; gpuadmin config export writes what is in "
          "force");
  }
  if (const Result<void> checked = check_applied(step, config, command.source); !checked)
    return step.refuse(checked.error());
  for (std::string& warning : config_warnings(config)) step.note("warning: " + std::move(warning));
  config.version = now.version;
  if (config != now) {
    ++config.version;
    step.emit(ConfigApplied{std::move(config), name_of_requester(command.who)});
    step.want_pass();
  }
  for (std::string& warning : guarantee_warnings(step.cluster(), step.brain().board.ledger))
    step.note("warning: " + std::move(warning));
}

void begin_epoch(Step& step, const BeginEpoch& command) {
  step.emit(EpochBegun{command.epoch, command.cluster_id, command.boot_id, command.release});
  Liveness& liveness = step.liveness();
  liveness = Liveness{};
  liveness.began_at = step.now().at;
  for (const auto& [id, node] : step.cluster().nodes())
    step.brain().board.ledger.set_connected(id, false);
  for (const auto& [key, attempt] : step.cluster().attempts()) open_attempt(step, key);
}

void schedule(Step& step, const SchedulePass& command) {
  Brain& brain = step.brain();
  PassDesk desk{brain.cluster,
                brain.board,
                step.now().at,
                [&step](AttemptStarted event) {
                  const AttemptKey key = event.key;
                  step.emit(std::move(event));
                  open_attempt(step, key);
                },
                [&step](FreedRoom room) { step.emit(RoomFreed{std::move(room)}); },
                [&step](AttemptKey victim, ElementKey preemptor) {
                  preempt_attempt(step, victim, preemptor);
                }};
  step.out().pass_wanted = run_pass(desk, command.budget, brain.pass);
}

// Ended jobs that SQL has leave memory, the longest ended first.
void forget_jobs(Step& step) {
  const Cluster& cluster = step.cluster();
  const Duration after = cluster.config().limits.forget_after;
  std::vector<JobId> over;
  const Gates& gates = step.brain().board.gates;
  std::pair<Seq, JobId>& from = step.brain().forget_from;
  auto it = cluster.jobs_ended().lower_bound(from);
  for (std::size_t looks = 0; it != cluster.jobs_ended().end(); ++it, ++looks) {
    const auto& [seq, id] = *it;
    if (seq > step.liveness().feed_reached || over.size() == kForgottenPerTickMax) break;
    if (step.now().at - cluster.find_job(id)->ended_at() < after) break;
    if (looks == kForgettingLooksMax) {
      from = *it;
      break;
    }
    if (!gates.keeps(id)) over.push_back(id);  // Others still wait for how it ended.
  }
  // From the oldest again next time: nobody may wait for it any more.
  if (it == cluster.jobs_ended().end() || *it != from) from = {};
  for (const JobId id : over) step.emit(JobForgotten{id});
}

void wake_backoffs(Step& step) {
  auto& backoffs = step.brain().backoffs;
  while (!backoffs.empty() && backoffs.begin()->first <= step.now().at) {
    step.brain().board.line.touch(step.cluster(), backoffs.begin()->second.job);
    backoffs.erase(backoffs.begin());
    step.want_pass();
  }
}

void tick(Step& step) {
  suspect_silent(step);
  check_deadlines(step);
  keep_drain_deadlines(step);
  end_reservations(step);
  wake_backoffs(step);
  step.brain().board.gates.tick(step.cluster(), step.now().at, step.now().wall);
  if (step.brain().board.line.jobs_waiting() != 0 && step.brain().pass.is_due(step.now().at))
    step.want_pass();
  step.out().estimate_wanted =
      step.brain().estimates.is_due({step.cluster(), step.brain().board}, step.now().at);
  forget_jobs(step);
}

void estimate_starts(Step& step, const EstimateStarts& command) {
  Brain& brain = step.brain();
  const ForeDesk desk{brain.cluster, brain.board};
  if (command.anew) brain.estimates.begin(desk, step.now().at);
  step.out().estimate_wanted = brain.estimates.advance(desk, step.now().at, command.work_max);
  StartsEstimated said;
  for (const StartEstimate& start : brain.estimates.take_news(brain.cluster))
    said.starts.push_back({start.job, start.half, start.most});
  if (!said.starts.empty()) step.emit(std::move(said));
}

void rebuild_board(Step& step, const RebuildBoard& command) {
  if (command.who.role != Role::kAdmin) {
    return step.refuse(
        fail(ErrorCode::kConflict, "only an administrator may have what is remembered made anew"));
  }
  step.emit(BoardRebuilt{});
  step.want_pass();
}

struct Dispatch {
  Step& step;
  void operator()(const SubmitJobs& command) const { submit_jobs(step, command); }
  void operator()(const CancelJobs& command) const { cancel_jobs(step, command); }
  void operator()(const HoldJobs& command) const { hold_jobs(step, command); }
  void operator()(const ReleaseJobs& command) const { release_jobs(step, command); }
  void operator()(const RequeueJobs& command) const { requeue_jobs(step, command); }
  void operator()(const TopJobs& command) const { top_jobs(step, command); }
  void operator()(const SetJobs& command) const { set_jobs(step, command); }
  void operator()(const ChangeNodes& command) const { change_nodes(step, command); }
  void operator()(const EnrolNode& command) const { enrol_node(step, command); }
  void operator()(const ApplyConfig& command) const { apply_config(step, command); }
  void operator()(const SetReservation& command) const { set_reservation(step, command); }
  void operator()(const RemoveReservation& command) const { remove_reservation(step, command); }
  void operator()(const SetUsage& command) const { set_usage(step, command); }
  void operator()(const WorkerHello& command) const { take_hello(step, command); }
  void operator()(const WorkerReport& command) const { take_report(step, command); }
  void operator()(const WorkerInventory& command) const { take_inventory(step, command); }
  void operator()(const WorkerHeard& command) const { take_heartbeat(step, command); }
  void operator()(const WorkerLost& command) const { take_loss(step, command); }
  void operator()(const SchedulePass& command) const { schedule(step, command); }
  void operator()(const Tick&) const { tick(step); }
  void operator()(const EstimateStarts& command) const { estimate_starts(step, command); }
  void operator()(const RebuildBoard& command) const { rebuild_board(step, command); }
  void operator()(const BeginEpoch& command) const { begin_epoch(step, command); }
  void operator()(const FeedReached& command) const {
    step.liveness().feed_reached = std::max(step.liveness().feed_reached, command.seq);
  }
  void operator()(const SealSegment&) const {
    step.emit(SegmentSealed{Seq{step.brain().seq.value + 1}, step.cluster().digest()});
  }
};

}  // namespace

void Brain::apply(const Event& event, const Stamp& stamp) {
  const AttemptEnded* ended = std::get_if<AttemptEnded>(&event);
  if (ended != nullptr) {
    for (const Member& member : cluster.find_attempt(ended->key)->place->members)
      changes.nodes.insert(member.node);
  }
  board.before(cluster, event);
  cluster.apply(event, stamp);
  board.after(cluster, event);
  std::visit(NoteChange{changes}, event);
  if (std::holds_alternative<BoardRebuilt>(event)) rebuild();
  if (const auto* again = std::get_if<ElementRequeued>(&event)) {
    if (again->not_before.us > 0 && !again->hold) {
      backoffs.emplace(stamp.at + again->not_before, ElementKey{again->job, again->element});
    }
  }
}

void Brain::rebuild() {
  board.rebuild(cluster);
  pass = PassCursor{};
  backoffs.clear();
  for (const auto& [id, job] : cluster.jobs()) {
    const JobId key = id;
    job.touched().for_each({}, [&](Element element, const ElementRecord& record) {
      if (record.state == ElementState::kPending && record.not_before.us > 0)
        backoffs.emplace(record.not_before, ElementKey{key, element});
      return true;
    });
  }
}

void Step::emit(Event event) {
  if (!out_.record) {
    out_.record = Record{Seq{brain_.seq.value + 1}, brain_.cluster.epoch(), now_.at, now_.wall, {}};
  }
  Record& record = *out_.record;
  if (const auto* begun = std::get_if<EpochBegun>(&event)) record.epoch = begun->epoch;
  const std::uint64_t generation = brain_.board.ledger.generation();
  brain_.apply(event, Stamp{record.seq, now_.at, now_.wall});
  if (brain_.board.ledger.generation() != generation) out_.pass_wanted = true;
  record.events.push_back(std::move(event));
}

struct Engine::Impl {
  Brain brain;
  bool began = false;
  Instant last;
};

Engine::Engine() : impl_(std::make_unique<Impl>()) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

void Engine::load(Cluster cluster, Seq seq) {
  MUSTER_ASSERT(!impl_->began && impl_->brain.seq.value == 0);
  impl_->brain.cluster = std::move(cluster);
  impl_->brain.seq = seq;
  impl_->brain.rebuild();
  impl_->brain.estimates.clear();
}

void Engine::replay(const Record& record) {
  Brain& brain = impl_->brain;
  MUSTER_ASSERT(!impl_->began && record.seq.value == brain.seq.value + 1);
  for (const Event& event : record.events) {
    brain.apply(event, Stamp{record.seq, record.at, record.wall});
  }
  brain.seq = record.seq;
}

Outcome Engine::step(const Command& command, Now now) {
  Brain& brain = impl_->brain;
  if (std::holds_alternative<BeginEpoch>(command)) impl_->began = true;
  MUSTER_ASSERT(impl_->began && now.at >= impl_->last && now.at >= brain.cluster.applied_at());
  impl_->last = now.at;
  Outcome out;
  Step step(brain, now, out);
  follow_clock(step);
  std::visit(Dispatch{step}, command);
  // The first record of an epoch, and the last of a segment, hold nothing else.
  if (!std::holds_alternative<BeginEpoch>(command) && !std::holds_alternative<SealSegment>(command))
    settle_gates(step);
  if (out.record) brain.seq = out.record->seq;
  return out;
}

std::optional<Explanation> Engine::explain(ElementKey key, Instant now) const {
  std::optional<Explanation> why =
      explain_element(impl_->brain.cluster, impl_->brain.board, key, now);
  if (why) explain_start(*why, impl_->brain.cluster, *impl_->brain.estimates.table(), key, now);
  return why;
}

std::shared_ptr<const StartTable> Engine::starts() const { return impl_->brain.estimates.table(); }

WaitReason Engine::wait_reason(JobId job) const { return impl_->brain.board.gates.reason_of(job); }

Verdict Engine::would_place(const Requester& who, const JobSpec& spec) const {
  return place_new(impl_->brain.cluster, impl_->brain.board, {who.uid, who.user, spec},
                   impl_->brain.cluster.applied_at());
}

std::shared_ptr<StartTrial> Engine::begin_trial(const Requester& who, const JobSpec& spec,
                                                Instant now) const {
  return std::make_shared<StartTrial>(ForeDesk{impl_->brain.cluster, impl_->brain.board}, who, spec,
                                      now);
}

bool Engine::advance_trial(StartTrial& trial) const {
  return trial.advance({impl_->brain.cluster, impl_->brain.board}, kEstimateWork);
}

Standing Engine::standing(Instant now) const {
  const Order& order = impl_->brain.board.order;
  Standing standing = order.standing(now);
  Shares::Count counted = order.shares.count(impl_->brain.cluster, now);
  standing.factors = std::move(counted.factors);
  standing.rows = std::move(counted.rows);
  return standing;
}

std::vector<LicenceUse> Engine::licences() const { return impl_->brain.board.licences.all(); }

const Cluster& Engine::cluster() const { return impl_->brain.cluster; }
const Liveness& Engine::liveness() const { return impl_->brain.liveness; }
Seq Engine::seq_last() const { return impl_->brain.seq; }
Changes Engine::take_changes() { return std::exchange(impl_->brain.changes, {}); }

}  // namespace muster
