// Applying events about the cluster itself and about jobs.
#include "base/types/digest.h"
#include "controller/core/cluster_apply.h"
#include "controller/core/job_change.h"

namespace muster {
namespace {

constexpr unsigned kHeld = 1U << static_cast<unsigned>(ElementState::kHeld);
constexpr unsigned kPending = 1U << static_cast<unsigned>(ElementState::kPending);
constexpr unsigned kActive = 1U << static_cast<unsigned>(ElementState::kActive);
constexpr unsigned kWaiting = 1U << static_cast<unsigned>(ElementState::kWaiting);

}  // namespace

void Cluster::apply(const Event& event, const Stamp& stamp) {
  MUSTER_ASSERT(stamp.at >= applied_at_);
  applied_at_ = stamp.at;
  ClusterApply apply{*this, stamp};
  apply.expire_requests();
  std::visit(apply, event);
}

std::uint64_t digest_of_device(const Device& device) {
  return combine64(combine64(device.id.value, digest_of(device.uuid)), device.node.value);
}

std::uint64_t digest_of_request(const RequestId& id, const RecentRequest& request) {
  std::uint64_t hash = combine64(digest_of(id), request.first.value);
  hash = combine64(hash, request.count);
  return combine64(hash, static_cast<std::uint64_t>(request.at.us));
}

std::uint64_t digest_of_forgotten(JobId first, const ForgottenRun& run) {
  std::uint64_t hash = combine64(first.value, run.last.value);
  hash = combine64(hash, static_cast<std::uint64_t>(run.kind));
  return combine64(hash, static_cast<std::uint64_t>(run.hour));
}

Job& ClusterApply::job_must_exist(JobId id) {
  const auto found = cluster.jobs_.find(id);
  MUSTER_ASSERT(found != cluster.jobs_.end());
  return found->second;
}

Node& ClusterApply::node_must_exist(NodeId id) {
  const auto found = cluster.nodes_.find(id);
  MUSTER_ASSERT(found != cluster.nodes_.end());
  return found->second;
}

template <class Change>
void ClusterApply::change_node(Node& node, Change change) {
  cluster.digest_ -= digest_of(node);
  change(node);
  cluster.digest_ += digest_of(node);
}

void ClusterApply::expire_requests() {
  while (!cluster.requests_by_age_.empty()) {
    const auto& [at, id] = cluster.requests_by_age_.front();
    if (stamp.at - at < kRequestKept) return;
    const auto found = cluster.requests_.find(id);
    if (found != cluster.requests_.end() && found->second.at == at) {
      cluster.digest_ -= digest_of_request(id, found->second);
      cluster.requests_.erase(found);
    }
    cluster.requests_by_age_.pop_front();
  }
}

void ClusterApply::operator()(const EpochBegun& event) {
  MUSTER_ASSERT(event.epoch > cluster.epoch_);
  MUSTER_ASSERT(cluster.cluster_id_.empty() || cluster.cluster_id_ == event.cluster_id);
  cluster.epoch_ = event.epoch;
  cluster.cluster_id_ = event.cluster_id;
}

void ClusterApply::operator()(const ConfigApplied& event) {
  cluster.config_ = std::make_shared<const ClusterConfig>(event.config);
}

void ClusterApply::operator()(const NodeEnrolled& event) {
  const auto [it, is_new] = cluster.nodes_.try_emplace(event.node);
  Node& node = it->second;
  if (is_new) {
    MUSTER_ASSERT(event.node >= cluster.node_next_ && cluster.node_names_.count(event.name) == 0);
    cluster.node_next_ = NodeId{event.node.value + 1};
    cluster.node_names_[event.name] = event.node;
  } else {
    MUSTER_ASSERT(node.name == event.name);
    cluster.digest_ -= digest_of(node);
  }
  node.id = event.node;
  node.name = event.name;
  node.public_key = event.public_key;
  node.by = event.by;
  cluster.digest_ += digest_of(node);
}

void ClusterApply::intern_device(const std::string& uuid, DeviceId id, NodeId node) {
  if (id.value == cluster.devices_.size() + 1) {
    cluster.devices_.push_back(Device{id, uuid, node});
    const bool is_new = cluster.device_uuids_.emplace(uuid, id).second;
    MUSTER_ASSERT(is_new);
    cluster.digest_ += digest_of_device(cluster.devices_.back());
    return;
  }
  MUSTER_ASSERT(id.value >= 1 && id.value <= cluster.devices_.size());
  Device& device = cluster.devices_[id.value - 1];
  MUSTER_ASSERT(device.uuid == uuid);
  cluster.digest_ -= digest_of_device(device);
  device.node = node;
  cluster.digest_ += digest_of_device(device);
}

void ClusterApply::operator()(const NodeReported& event) {
  MUSTER_ASSERT(event.device_ids.size() == event.inventory.gpus.size());
  for (std::size_t i = 0; i < event.device_ids.size(); ++i) {
    intern_device(event.inventory.gpus[i].uuid, event.device_ids[i], event.node);
  }
  change_node(node_must_exist(event.node), [&](Node& node) {
    node.boot_id = event.boot_id;
    node.inventory = event.inventory;
    node.device_ids = event.device_ids;
  });
}

void ClusterApply::operator()(const NodeStateChanged& event) {
  change_node(node_must_exist(event.node), [&](Node& node) {
    node.state = event.state;
    node.reason = event.reason;
    node.by = event.by;
    if (event.state == NodeState::kUp) node.drain = {};
    node.drained =
        event.state != NodeState::kUp && (node.drained || event.state == NodeState::kDrained);
    if (event.state != NodeState::kDrained) return;
    const Drain& before = node.drain;
    const bool is_same = before.reason == event.reason && before.by == event.by &&
                         before.deadline == event.deadline && before.since != WallTime{};
    if (!is_same) node.drain = Drain{event.reason, event.by, stamp.wall, event.deadline};
  });
}

void ClusterApply::operator()(const NodeRemoved& event) {
  const Node& node = node_must_exist(event.node);
  MUSTER_ASSERT(cluster.attempts_on(event.node).empty());
  cluster.digest_ -= digest_of(node);
  cluster.node_names_.erase(node.name);
  cluster.nodes_.erase(event.node);
}

void ClusterApply::note_request(const JobSubmitted& event) {
  const auto [it, is_new] = cluster.requests_.try_emplace(event.request);
  RecentRequest& request = it->second;
  if (is_new) {
    MUSTER_ASSERT(event.request_index == 0);
    request.first = event.job;
    request.at = stamp.at;
    cluster.requests_by_age_.emplace_back(stamp.at, event.request);
  } else {
    MUSTER_ASSERT(event.request_index == request.count);
    cluster.digest_ -= digest_of_request(event.request, request);
  }
  MUSTER_ASSERT(event.job.value == request.first.value + request.count);
  ++request.count;
  cluster.digest_ += digest_of_request(event.request, request);
}

void ClusterApply::operator()(const JobSubmitted& event) {
  MUSTER_ASSERT(event.job >= cluster.job_next_);
  cluster.job_next_ = JobId{event.job.value + 1};
  note_request(event);
  auto facts = std::make_shared<JobFacts>();
  facts->id = event.job;
  facts->request = event.request;
  facts->request_index = event.request_index;
  facts->name = event.spec.name;
  facts->owner =
      cluster.owners_.take(JobOwner{event.uid, event.gid, event.user, event.groups, event.host});
  facts->terms = cluster.terms_.take(terms_of(event.spec));
  facts->launch = event.launch;
  facts->script = event.script;
  facts->environment = event.environment;
  facts->submitted_at = stamp.at;
  facts->submitted_wall = stamp.wall;
  JobGate gate = gate_of(event.spec);
  const bool waits = gate.waits();
  if (!gate.empty()) facts->gate = std::make_shared<const JobGate>(std::move(gate));
  const ElementState first = event.spec.hold ? ElementState::kHeld
                             : waits         ? ElementState::kWaiting
                                             : ElementState::kPending;
  const auto it =
      cluster.jobs_.try_emplace(cluster.jobs_.end(), event.job, std::move(facts), first);
  JobChange(it->second, cluster.digest_).add_to_digest();
  ++cluster.unfinished_;
  ++cluster.unfinished_of_[event.uid];
}

void ClusterApply::operator()(const ElementsHeld& event) {
  JobChange change(job_must_exist(event.job), cluster.digest_);
  cluster.estimates_.withdraw(event.job);
  if (!event.elements.empty())
    change.move(event.elements, kPending | kWaiting, ElementState::kHeld, nullptr);
  if (event.by_operator) change.set_held_by_operator(true);
  drop_rooms(event.job);
}

void ClusterApply::operator()(const ElementsReleased& event) {
  Job& job = job_must_exist(event.job);
  JobChange change(job, cluster.digest_);
  change.move(event.elements, kHeld, ElementState::kPending, nullptr);
  if (job.count(ElementState::kHeld) == 0) change.set_held_by_operator(false);
}

void ClusterApply::operator()(const ElementsEnded& event) {
  Job& job = job_must_exist(event.job);
  auto ending = std::make_shared<const Ending>(Ending{event.cause, stamp.at, stamp.wall});
  JobChange(job, cluster.digest_)
      .move(event.elements, kHeld | kPending | kActive | kWaiting, ElementState::kEnded,
            std::move(ending));
  drop_rooms(event.job);
  end_job_if_over(job);
}

void ClusterApply::end_job_if_over(Job& job) {
  if (!job.is_ended()) return;
  JobChange(job, cluster.digest_).mark_ended(stamp.seq, stamp.at);
  cluster.jobs_ended_.emplace(stamp.seq, job.facts().id);
  cluster.estimates_.withdraw(job.facts().id);
  --cluster.unfinished_;
  const auto count = cluster.unfinished_of_.find(job.facts().uid());
  if (--count->second == 0) cluster.unfinished_of_.erase(count);
}

void ClusterApply::operator()(const ElementRequeued& event) {
  Job& job = job_must_exist(event.job);
  JobChange(job, cluster.digest_).touch(event.element, [&](ElementRecord& record) {
    MUSTER_ASSERT(record.state == ElementState::kActive);
    record.state = event.hold ? ElementState::kHeld : ElementState::kPending;
    // Only repeats after faults wait; a person's wish starts the count again.
    record.retries = event.not_before.us > 0 || event.hold ? record.retries + 1 : 0;
    record.not_before = stamp.at + event.not_before;
    record.nodes_avoided = event.nodes_avoided;
    record.reason = event.reason;
  });
}

void ClusterApply::operator()(const JobChanged& event) {
  Job& job = job_must_exist(event.job);
  JobChange change(job, cluster.digest_);
  cluster.estimates_.withdraw(event.job);  // Said of another turn, or of another request.
  drop_rooms(event.job, true);
  if (event.top) change.set_top(*event.top);
  JobTerms terms = *job.facts().terms;
  auto facts = std::make_shared<JobFacts>(job.facts());
  if (event.time_limit) {
    if (*event.time_limit < terms.time_limit) lower_limits(event.job);
    terms.time_limit = *event.time_limit;
  }
  if (event.queue) terms.queue = *event.queue;
  if (event.account) terms.account = *event.account;
  if (event.priority) terms.priority = *event.priority;
  if (event.qos) terms.qos = *event.qos;
  if (event.nice) terms.nice = *event.nice;
  if (event.name) facts->name = *event.name;
  if (event.reservation) terms.reservation = *event.reservation;
  change_terms(*facts, terms);
  change.replace_facts(std::move(facts));
}

void ClusterApply::change_terms(JobFacts& facts, const JobTerms& terms) {
  const std::shared_ptr<const JobTerms> old = facts.terms;
  facts.terms = cluster.terms_.take(terms);
  cluster.terms_.drop(old);
}

void ClusterApply::operator()(const ElementsReady& event) {
  JobChange(job_must_exist(event.job), cluster.digest_)
      .move(event.elements, kWaiting, ElementState::kPending, nullptr);
}

void ClusterApply::operator()(const GateChanged& event) {
  Job& job = job_must_exist(event.job);
  JobChange change(job, cluster.digest_);
  if (event.depends || event.begin || event.deadline) {
    auto facts = std::make_shared<JobFacts>(job.facts());
    JobGate gate = facts->gate ? *facts->gate : JobGate{};
    if (event.depends) gate.depends = *event.depends;
    if (event.begin) gate.begin = *event.begin;
    if (event.deadline) gate.deadline = *event.deadline;
    // Also when nothing is left to wait for: its elements have to be let through.
    facts->gate = std::make_shared<const JobGate>(std::move(gate));
    change.replace_facts(std::move(facts));
  }
  if (!event.elements.empty())
    change.move(event.elements, kPending, ElementState::kWaiting, nullptr);
  drop_rooms(event.job);
}

void ClusterApply::operator()(const ArrayThrottled& event) {
  Job& job = job_must_exist(event.job);
  auto facts = std::make_shared<JobFacts>(job.facts());
  JobTerms terms = *facts->terms;
  terms.array.running_max = event.running_max;
  change_terms(*facts, terms);
  JobChange(job, cluster.digest_).replace_facts(std::move(facts));
}

void ClusterApply::operator()(const StartsEstimated& event) {
  for (const StartSaid& said : event.starts) {
    if (!job_must_exist(said.job).is_ended())
      cluster.estimates_.promise(said.job, {said.half, said.most});
  }
}

void ClusterApply::operator()(const JobForgotten& event) {
  Job& job = job_must_exist(event.job);
  MUSTER_ASSERT(job.ended_seq().value != 0);
  const ArraySpec& array = job.facts().terms->array;
  const std::optional<Ending> ending = job.find_ending(element_at(array, job.elements() - 1));
  note_forgotten(event.job, ending->cause.kind);
  JobChange(job, cluster.digest_).remove_from_digest();
  cluster.jobs_ended_.erase({job.ended_seq(), event.job});
  cluster.owners_.drop(job.facts().owner);
  cluster.terms_.drop(job.facts().terms);
  cluster.jobs_.erase(event.job);
}

void ClusterApply::note_forgotten(JobId id, CauseKind kind) {
  auto& runs = cluster.forgotten_;
  const std::int64_t hour = stamp.at.us / hours(1).us;
  const auto after = runs.lower_bound(id);
  if (after != runs.begin()) {
    auto before = std::prev(after);
    ForgottenRun& run = before->second;
    if (run.last.value + 1 == id.value && run.kind == kind && run.hour == hour) {
      cluster.digest_ -= digest_of_forgotten(before->first, run);
      run.last = id;
      cluster.digest_ += digest_of_forgotten(before->first, run);
      return;
    }
  }
  const auto added = runs.emplace_hint(after, id, ForgottenRun{id, kind, hour});
  cluster.digest_ += digest_of_forgotten(id, added->second);
  const std::int64_t oldest = hour - kForgottenKept.us / hours(1).us;
  while (runs.size() > kForgottenRunsMax || runs.begin()->second.hour < oldest) {
    cluster.digest_ -= digest_of_forgotten(runs.begin()->first, runs.begin()->second);
    runs.erase(runs.begin());
  }
}

void ClusterApply::operator()(const RoomFreed& event) {
  drop_rooms_over();
  drop_room(event.room.key());
  cluster.digest_ += digest_of(event.room);
  cluster.rooms_.emplace(event.room.key(), event.room);
}

void ClusterApply::drop_room(ElementKey element) {
  const auto found = cluster.rooms_.find(element);
  if (found == cluster.rooms_.end()) return;
  cluster.digest_ -= digest_of(found->second);
  cluster.rooms_.erase(found);
}

void ClusterApply::drop_rooms(JobId job, bool all) {
  const auto first = cluster.rooms_.lower_bound(ElementKey{job, {}});
  for (auto it = first; it != cluster.rooms_.end() && it->first.job == job;) {
    const ElementKey element = (it++)->first;
    if (all || job_must_exist(job).state_of(element.element) != ElementState::kPending)
      drop_room(element);
  }
}

void ClusterApply::drop_rooms_over() {
  for (auto it = cluster.rooms_.begin(); it != cluster.rooms_.end();) {
    const FreedRoom& room = (it++)->second;
    if (!room.is_kept(stamp.at)) drop_room(room.key());
  }
}

void ClusterApply::operator()(const SegmentSealed&) {}

void ClusterApply::operator()(const ReservationSet& event) {
  const auto [it, is_new] = cluster.reservations_.try_emplace(event.reservation.name);
  if (!is_new) cluster.digest_ -= digest_of(it->second);
  it->second = event.reservation;
  cluster.digest_ += digest_of(it->second);
}

void ClusterApply::operator()(const ReservationRemoved& event) {
  const auto found = cluster.reservations_.find(event.reservation);
  MUSTER_ASSERT(found != cluster.reservations_.end());
  cluster.digest_ -= digest_of(found->second);
  cluster.reservations_.erase(found);
}

}  // namespace muster
