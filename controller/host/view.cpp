// Builds and publishes the readers' view.
#include "controller/host/view.h"

#include <chrono>

namespace muster {

namespace {

AttemptView attempt_view(const Attempt& attempt, const Liveness& liveness) {
  AttemptView view;
  view.key = attempt.key;
  view.place = attempt.place;
  view.state = attempt.state;
  view.started_wall = attempt.started_wall;
  view.launched_wall = attempt.launched_wall;
  const auto live = liveness.attempts.find(attempt.key);
  if (live != liveness.attempts.end()) {
    for (const MemberLiveness& member : live->second.members) view.phases.push_back(member.phase);
  }
  view.ended.assign(attempt.members_ended().begin(), attempt.members_ended().end());
  return view;
}

std::shared_ptr<const std::vector<Reservation>> reservations_of(const Engine& engine) {
  std::vector<Reservation> all;
  for (const auto& [name, reservation] : engine.cluster().reservations())
    all.push_back(reservation);
  return std::make_shared<const std::vector<Reservation>>(std::move(all));
}

struct Counts {
  std::uint64_t pending = 0;
  std::uint64_t running = 0;
};

Counts counts_of(const JobView* view) {
  if (view == nullptr) return {};
  return {view->job.count(ElementState::kPending) + view->job.count(ElementState::kWaiting),
          view->job.count(ElementState::kActive)};
}

}  // namespace

const AttemptView* live_attempt(const JobView& job, Element element) {
  if (job.many != nullptr) return job.many->find(std::uint64_t{element.value} + 1);
  return job.only != nullptr && job.only->key.element == element ? job.only.get() : nullptr;
}

// The array's table of live attempts follows what changed.
void ViewSource::follow(const Engine& engine, ElementKey key) {
  const Job* job = engine.cluster().find_job(key.job);
  if (job == nullptr || !job->is_array()) return;
  const std::uint64_t slot = std::uint64_t{key.element.value} + 1;
  const Attempt* attempt = engine.cluster().find_attempt(key);
  if (attempt != nullptr) {
    live_[key.job].set(
        slot, std::make_shared<const AttemptView>(attempt_view(*attempt, engine.liveness())));
    return;
  }
  const auto table = live_.find(key.job);
  if (table != live_.end()) table->second.erase(slot);
}

std::shared_ptr<const JobView> ViewSource::job_view(const Engine& engine, const Job& job) {
  auto view = std::make_shared<JobView>(job);
  const JobId id = job.facts().id;
  if (job.count(ElementState::kWaiting) != 0) view->waits = engine.wait_reason(id);
  if (job.count(ElementState::kActive) == 0) {
    live_.erase(id);
  } else if (job.is_array()) {
    view->many = std::make_shared<const CowTable<AttemptView>>(live_[id].publish());
  } else if (const Attempt* attempt = engine.cluster().find_attempt(ElementKey{id, {}})) {
    view->only = std::make_shared<const AttemptView>(attempt_view(*attempt, engine.liveness()));
  }
  return view;
}

std::shared_ptr<const NodeView> ViewSource::node_view(const Engine& engine, const Node& node) {
  auto& known = known_[node.id];
  const bool same = known != nullptr && known->state == node.state &&
                    known->reason == node.reason && known->drain == node.drain &&
                    known->boot_id == node.boot_id && known->device_ids == node.device_ids &&
                    known->public_key == node.public_key && known->inventory == node.inventory;
  if (!same) known = std::make_shared<const Node>(node);
  auto view = std::make_shared<NodeView>();
  view->node = known;
  const NodeLiveness* live = engine.liveness().find_node(node.id);
  view->connected = live != nullptr && live->connected;
  for (const AttemptKey& key : engine.cluster().attempts_on(node.id)) {
    const Member* member = engine.cluster().find_attempt(key)->find_member(node.id);
    view->cpus_used += member->cpus;
    view->memory_mib_used += member->memory_mib;
    for (const Grant& grant : member->grants) {
      view->milli_used[grant.device] += grant.milli;
      view->holders[grant.device].push_back(key.element_key());
    }
  }
  return view;
}

ViewChange ViewSource::take(Engine& engine) {
  const Changes changes = engine.take_changes();
  ViewChange change;
  change.seq = engine.seq_last();
  for (const ElementKey& key : changes.elements) follow(engine, key);
  for (const JobId id : changes.jobs) {
    const Job* job = engine.cluster().find_job(id);
    if (job == nullptr) live_.erase(id);
    change.jobs.emplace_back(id, job == nullptr ? nullptr : job_view(engine, *job));
  }
  for (const NodeId id : changes.nodes) {
    const Node* node = engine.cluster().find_node(id);
    if (node == nullptr) known_.erase(id);
    change.nodes.emplace_back(id, node == nullptr ? nullptr : node_view(engine, *node));
  }
  if (changes.config) change.config = engine.cluster().config_shared();
  if (changes.reservations) change.reservations = reservations_of(engine);
  return change;
}

ViewChange ViewSource::all(const Engine& engine) {
  ViewChange change;
  change.seq = engine.seq_last();
  live_.clear();
  for (const auto& [key, attempt] : engine.cluster().attempts()) follow(engine, key.element_key());
  for (const auto& [id, job] : engine.cluster().jobs())
    change.jobs.emplace_back(id, job_view(engine, job));
  for (const auto& [id, node] : engine.cluster().nodes())
    change.nodes.emplace_back(id, node_view(engine, node));
  change.config = engine.cluster().config_shared();
  change.reservations = reservations_of(engine);
  return change;
}

void View::publish(const ViewChange& change, Epoch epoch) {
  for (const auto& [id, job] : change.jobs) {
    const Counts before = counts_of(building_.jobs.find(id.value));
    const Counts after = counts_of(job.get());
    building_.jobs_pending += after.pending - before.pending;
    building_.jobs_running += after.running - before.running;
    if (job == nullptr) {
      building_.jobs.erase(id.value);
    } else {
      building_.jobs.set(id.value, job);
    }
  }
  for (const auto& [id, node] : change.nodes) {
    if (node == nullptr) {
      building_.nodes.erase(id.value);
    } else {
      building_.nodes.set(id.value, node);
    }
  }
  if (change.config != nullptr) building_.config = change.config;
  if (change.reservations != nullptr) building_.reservations = change.reservations;
  building_.seq = change.seq;
  building_.epoch = epoch;
  auto next = std::make_shared<ViewState>();
  next->seq = building_.seq;
  next->jobs = building_.jobs.publish();
  next->nodes = building_.nodes.publish();
  next->config = building_.config;
  next->reservations = building_.reservations;
  next->epoch = building_.epoch;
  next->jobs_pending = building_.jobs_pending;
  next->jobs_running = building_.jobs_running;
  {
    const std::lock_guard lock(mutex_);
    state_ = std::move(next);
  }
  changed_.notify_all();
}

std::shared_ptr<const ViewState> View::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::shared_ptr<const ViewState> View::state_at(Seq seq, Duration patience) const {
  std::unique_lock lock(mutex_);
  const bool there = changed_.wait_for(lock, std::chrono::microseconds(patience.us),
                                       [&] { return state_->seq >= seq; });
  return there ? state_ : nullptr;
}

}  // namespace muster
