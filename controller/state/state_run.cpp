// Playing the workers of a dumped cluster.
#include "controller/state/state_run.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "base/types/text.h"
#include "controller/config/setting.h"
#include "controller/core/config_check.h"
#include "controller/core/decide/forecast.h"
#include "controller/core/decide/horizon.h"
#include "controller/core/engine.h"

namespace muster {
namespace {

constexpr Duration kTickEvery = minutes(5);
constexpr char kSelf[] = "gpusim";

Requester admin() { return {Uid{0}, Gid{0}, "root", Role::kAdmin, kSelf}; }

using End = std::pair<Instant, AttemptKey>;

double seconds_of(Duration d) { return static_cast<double>(d.us) / 1e6; }

std::uint64_t milli_of(const Place& place) {
  std::uint64_t milli = 0;
  for (const Member& member : place.members) {
    for (const Grant& grant : member.grants) milli += grant.milli;
  }
  return milli;
}

class World {
 public:
  explicit World(LoadedSnapshot dump) : at_(dump.cluster.applied_at()), wall_(dump.wall) {
    engine_.load(std::move(dump.cluster), dump.seq);
    for (const auto& [id, job] : cluster().jobs())
      waiting_ += job.count(ElementState::kPending) + job.count(ElementState::kWaiting);
    for (const auto& [key, attempt] : cluster().attempts()) hold(key, *attempt.place);
  }

  Result<StateOutcome> run(const StateChanges& changes) {
    step(BeginEpoch{Epoch{cluster().epoch().value + 1}, cluster().cluster_id(), kSelf, kSelf});
    greet();
    if (const Result<void> changed = change(changes); !changed) return changed.error();
    pass();
    outcome_.digest = cluster().digest();
    is_now_ = false;
    play();
    sum_up();
    return std::move(outcome_);
  }

 private:
  const Cluster& cluster() const { return engine_.cluster(); }

  Outcome step(const Command& command) {
    Outcome out = engine_.step(command, {at_, wall_});
    pass_wanted_ = pass_wanted_ || out.pass_wanted;
    if (std::holds_alternative<SchedulePass>(command)) pass_wanted_ = out.pass_wanted;
    errands_.insert(errands_.end(), out.effects.begin(), out.effects.end());
    if (out.record) {
      for (const Event& event : out.record->events) note(event);
    }
    return out;
  }

  void hold(const AttemptKey& key, const Place& place) {
    milli_in_use_ += holds_[key] = milli_of(place);
  }

  void note(const Event& event) {
    if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
      milli_in_use_ -= holds_[ended->key];
      holds_.erase(ended->key);
    }
    if (const auto* stopping = std::get_if<AttemptStopping>(&event); stopping != nullptr && is_now_)
      outcome_.stopped.push_back(name_of_element(stopping->key));
    const auto* started = std::get_if<AttemptStarted>(&event);
    if (started == nullptr) return;
    hold(started->key, started->place);
    if (started_.insert(started->key.element_key()).second) waits_.push_back(at_ - begun_);
    const std::string name = name_of_element(started->key);
    if (!is_now_) return outcome_.later.push_back({name, at_ - begun_});
    outcome_.started.push_back(*started);
    outcome_.places.push_back(nodes_text(started->place));
    outcome_.names.push_back(name);
  }

  std::string name_of_element(const AttemptKey& key) const {
    return to_text(key.element_key(), cluster().find_job(key.job)->is_array());
  }

  std::string nodes_text(const Place& place) const {
    std::string text;
    for (const Member& member : place.members)
      text += (text.empty() ? "" : ",") + cluster().find_node(member.node)->name;
    return text;
  }

  // Every node that was there says that it is, and what runs on it.
  void greet() {
    std::vector<NodeId> nodes;
    for (const auto& [id, node] : cluster().nodes()) {
      const bool heard = node.state == NodeState::kUp || node.state == NodeState::kDrained;
      if (node.has_reported() && heard) nodes.push_back(id);
    }
    for (const NodeId id : nodes) {
      const Node& node = *cluster().find_node(id);
      WorkerHello hello{node.name, node.boot_id, 1, node.inventory, {}};
      for (const AttemptKey& key : cluster().attempts_on(id)) {
        const Attempt& attempt = *cluster().find_attempt(key);
        // What is being prepared is asked for again.
        if (attempt.members_ended().count(id) != 0 || attempt.state == AttemptState::kPreparing)
          continue;
        const auto phase = attempt.launched ? AttemptPhase::kRunning : AttemptPhase::kPreparing;
        hello.attempts.push_back({key, phase, cluster().epoch(), attempt.ports(), {}});
      }
      step(hello);
    }
  }

  Result<void> change(const StateChanges& changes) {
    for (const AddedNodes& added : changes.nodes) {
      if (const Result<void> done = add(added); !done) return done;
    }
    if (changes.keys.empty()) return {};
    ClusterConfig config = cluster().config();
    for (const std::string& key : changes.keys) {
      if (const Result<void> done = set_key(config, key); !done) return done;
    }
    if (const Result<void> fine = check_config(config); !fine)
      return named(changes.keys, fine.error());
    const Outcome out = step(ApplyConfig{admin(), config, ConfigSource::kFileAlone, 0});
    return out.reply.error ? named(changes.keys, *out.reply.error) : Result<void>();
  }

  // Which settings made it.
  static Result<void> named(const std::vector<std::string>& keys, const Error& why) {
    std::string text;
    for (const std::string& key : keys)
      text += (text.empty() ? "'" : ", '") + escape_for_terminal(key) + "'";
    return fail(why.code, text + ": " + why.message);
  }

  Result<void> add(const AddedNodes& added) {
    const Node* like = cluster().find_node(added.like);
    if (like == nullptr || !like->has_reported())
      return fail(ErrorCode::kNotFound, "there is no node " + added.like + " in the dump");
    const Inventory known = like->inventory;
    for (std::uint32_t i = 0; i < added.count; ++i) {
      const std::string name = added.like + "-added-" + std::to_string(++nodes_added_);
      Inventory inventory = known;
      inventory.address = name;
      for (GpuFacts& gpu : inventory.gpus) gpu.uuid = name + "-" + std::to_string(gpu.index);
      const Outcome out = step(EnrolNode{admin(), name, std::string(40, 'k')});
      if (out.reply.error) return *out.reply.error;
      step(WorkerHello{name, kSelf, 1, inventory, {}});
    }
    return {};
  }

  void pass() {
    do step(SchedulePass{});
    while (pass_wanted_);
    engine_.take_changes();
  }

  // Nobody is lost from here on, and nothing else comes.
  void play() {
    ClusterConfig patient = cluster().config();
    patient.limits.suspect_after = days(3650);
    step(ApplyConfig{admin(), patient, ConfigSource::kFileAlone, 0});
    forecast_.rebuild(cluster());
    forecast_.refresh(at_);
    for (const auto& [key, attempt] : cluster().attempts()) {
      if (attempt.launched) ends_.emplace(expected_end(key), key);
    }
    settle();
    while (at_ < begun_ + kForeseenMax && started_.size() < waiting_ &&
           outcome_.later.size() < kForeseenStartsMax) {
      Instant next = at_ + kTickEvery;
      if (!ends_.empty()) next = std::min(next, std::max(at_, ends_.top().first));
      advance(next);
      step(FeedReached{engine_.seq_last()});
      step(Tick{});
      settle();
    }
  }

  void advance(Instant to) {
    used_milli_s_ += static_cast<double>(milli_in_use_) * seconds_of(to - at_);
    wall_ = WallTime{wall_.us + (to - at_).us};
    at_ = to;
    while (!ends_.empty() && ends_.top().first <= at_) {
      const AttemptKey key = ends_.top().second;
      ends_.pop();
      end(key);
    }
  }

  // By its limit, or sooner where its queue goes by what was learned.
  Instant expected_end(const AttemptKey& key) const {
    const Attempt& attempt = *cluster().find_attempt(key);
    const JobFacts& facts = cluster().find_job(key.job)->facts();
    const QueueConfig* queue = cluster().find_queue(facts.queue());
    Instant end = end_known(cluster(), attempt);
    if (queue != nullptr && goes_by_forecasts(*queue) && !attempt.stopping()) {
      const Duration age = std::max(at_ - attempt.launched_at, Duration{});
      end = std::min(end, at_ + forecast_.remaining(cluster(), facts, age));
    }
    return std::max(end, at_ + seconds(1));
  }

  // Until nobody has anything more to say.
  void settle() {
    while (pass_wanted_ || !errands_.empty()) {
      const std::vector<Effect> errands = std::exchange(errands_, {});
      for (const Effect& errand : errands)
        std::visit([this](const auto& order) { take(order); }, errand);
      if (errands.empty()) step(SchedulePass{});
    }
    engine_.take_changes();
  }

  void report(const AttemptKey& key, NodeId node, AttemptPhase phase) {
    AttemptReport said{key, phase, cluster().epoch(), {}, {}};
    if (phase == AttemptPhase::kPrepared) said.ports = {29500};
    if (phase == AttemptPhase::kEnded) {
      said.record.emplace();
      said.record->cause.kind = CauseKind::kCompleted;
      said.record->launched = true;
    }
    step(WorkerReport{cluster().find_node(node)->name, {said}});
  }

  void take(const SendPrepare& order) { report(order.key, order.node, AttemptPhase::kPrepared); }
  void take(const SendGo& order) {
    report(order.key, order.node, AttemptPhase::kRunning);
    if (going_.insert(order.key).second && cluster().find_attempt(order.key) != nullptr)
      ends_.emplace(expected_end(order.key), order.key);
  }
  void take(const SendKill& order) { ends_.emplace(at_ + seconds(1), order.key); }
  void take(const SendSignal&) {}
  void take(const SendForget&) {}

  void end(const AttemptKey& key) {
    const Attempt* attempt = cluster().find_attempt(key);
    if (attempt == nullptr) return;  // It was stopped before.
    const std::shared_ptr<const Place> place = attempt->place;
    for (const Member& member : place->members) {
      attempt = cluster().find_attempt(key);
      if (attempt != nullptr && attempt->members_ended().count(member.node) == 0)
        report(key, member.node, AttemptPhase::kEnded);
    }
    going_.erase(key);
  }

  void sum_up() {
    for (const Duration wait : waits_) {
      outcome_.mean_wait_s += seconds_of(wait) / static_cast<double>(waits_.size());
      outcome_.max_wait_s = std::max(outcome_.max_wait_s, seconds_of(wait));
    }
    outcome_.waiting = waiting_ - std::min<std::uint64_t>(waiting_, started_.size());
    double gpus = 0;
    for (const auto& [id, node] : cluster().nodes())
      gpus += static_cast<double>(node.inventory.gpus.size());
    const double whole = gpus * kMilliPerGpu * seconds_of(at_ - begun_);
    if (whole > 0) outcome_.utilisation = used_milli_s_ / whole;
  }

  Engine engine_;
  Instant at_;
  WallTime wall_;
  Instant begun_ = at_;
  bool is_now_ = true;
  bool pass_wanted_ = false;
  std::uint32_t nodes_added_ = 0;
  std::uint64_t waiting_ = 0;  // Elements that were not running at first.
  std::uint64_t milli_in_use_ = 0;
  double used_milli_s_ = 0;
  StateOutcome outcome_;
  Forecast forecast_;  // As of now.
  std::vector<Effect> errands_;
  std::vector<Duration> waits_;
  std::set<ElementKey> started_;
  std::set<AttemptKey> going_;
  std::map<AttemptKey, std::uint64_t> holds_;  // Milli-GPUs.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

Result<StateOutcome> run_state(LoadedSnapshot dump, const StateChanges& changes) {
  return World(std::move(dump)).run(changes);
}

}  // namespace muster
