// Looking things up in the cluster.
#include "controller/core/cluster.h"

#include <algorithm>

#include "base/types/digest.h"

namespace muster {
namespace {

const std::vector<AttemptKey> kNoAttempts;

template <class Map, class Key>
auto find_in(Map& map, const Key& key) -> decltype(&map.find(key)->second) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

const Job* Cluster::find_job(JobId id) const { return find_in(jobs_, id); }
const Attempt* Cluster::find_attempt(const AttemptKey& key) const {
  return find_in(attempts_, key);
}
const Node* Cluster::find_node(NodeId id) const { return find_in(nodes_, id); }

const Attempt* Cluster::find_attempt(const ElementKey& key) const {
  const auto found = attempts_.lower_bound(AttemptKey{key.job, key.element, AttemptNo{0}});
  if (found == attempts_.end() || found->first.element_key() != key) return nullptr;
  return &found->second;
}

const Node* Cluster::find_node(std::string_view name) const {
  const NodeId* id = find_in(node_names_, name);
  return id == nullptr ? nullptr : find_node(*id);
}

const Device* Cluster::find_device(DeviceId id) const {
  if (id.value == 0 || id.value > devices_.size()) return nullptr;
  return &devices_[id.value - 1];
}

const Device* Cluster::find_device(std::string_view uuid) const {
  const DeviceId* id = find_in(device_uuids_, uuid);
  return id == nullptr ? nullptr : find_device(*id);
}

const std::vector<AttemptKey>& Cluster::attempts_on(NodeId node) const {
  const std::vector<AttemptKey>* found = find_in(attempts_on_, node);
  return found == nullptr ? kNoAttempts : *found;
}

const QueueConfig* Cluster::find_queue(std::string_view name) const {
  for (const QueueConfig& queue : config_->queues) {
    if (queue.name == name) return &queue;
  }
  return nullptr;
}

const AccountConfig* Cluster::find_account(std::string_view name) const {
  for (const AccountConfig& account : config_->accounts) {
    if (account.name == name) return &account;
  }
  return nullptr;
}

const QosConfig* Cluster::find_qos(std::string_view name) const {
  for (const QosConfig& qos : config_->qos) {
    if (qos.name == name) return &qos;
  }
  return nullptr;
}

const Reservation* Cluster::find_reservation(const std::string& name) const {
  return find_in(reservations_, name);
}

const RecentRequest* Cluster::find_request(const RequestId& request, Instant now) const {
  const RecentRequest* found = find_in(requests_, request);
  return found != nullptr && now - found->at < kRequestKept ? found : nullptr;
}

std::uint64_t Cluster::jobs_unfinished(Uid uid) const {
  const std::uint64_t* found = find_in(unfinished_of_, uid);
  return found == nullptr ? 0 : *found;
}

std::optional<CauseKind> Cluster::forgotten_end(JobId id) const {
  const auto after = forgotten_.upper_bound(id);
  if (after == forgotten_.begin()) return std::nullopt;
  const ForgottenRun& run = std::prev(after)->second;
  if (run.last < id) return std::nullopt;
  return run.kind;
}

std::uint64_t Cluster::digest() const {
  std::uint64_t hash = combine64(digest_ + run_times_.digest() + estimates_.digest(), epoch_.value);
  hash = combine64(hash, digest_of(cluster_id_));
  hash = combine64(hash, job_next_.value);
  hash = combine64(hash, node_next_.value);
  hash = combine64(hash, static_cast<std::uint64_t>(applied_at_.us));
  return combine64(hash, digest_of(*config_));
}

const std::string& Attempt::master_address() const {
  static const std::string kNone;
  return address == nullptr ? kNone : *address;
}

std::vector<std::uint16_t> Attempt::ports() const {
  return port_only == 0 ? extras->ports : std::vector<std::uint16_t>{port_only};
}

void Attempt::set_ports(std::vector<std::uint16_t> ports) {
  port_only = ports.size() == 1 ? ports.front() : 0;
  if (port_only == 0 && !ports.empty()) extras.own().ports = std::move(ports);
}

const Member* Attempt::find_member(NodeId node) const {
  for (const Member& member : place->members) {
    if (member.node == node) return &member;
  }
  return nullptr;
}

std::uint64_t weighted_milli(const Cluster& cluster, const Place& place) {
  const PriorityConfig& weights = cluster.config().priority;
  const auto weight_of = [&](const std::string& type) -> std::uint64_t {
    for (const GpuWeight& weight : weights.gpu_types) {
      if (weight.type == type) return weight.milli;
    }
    return kMilliPerGpu;
  };
  std::uint64_t gpus = 0;
  std::uint64_t cpus = 0;
  for (const Member& member : place.members) {
    cpus += std::uint64_t{member.cpus} * weights.cpu_milli;
    const Node* node = cluster.find_node(member.node);
    if (node == nullptr) continue;
    for (const Grant& grant : member.grants) {
      const auto found = std::find(node->device_ids.begin(), node->device_ids.end(), grant.device);
      const std::uint64_t weight =
          found == node->device_ids.end()
              ? kMilliPerGpu
              : weight_of(
                    node->inventory.gpus[static_cast<std::size_t>(found - node->device_ids.begin())]
                        .type);
      gpus += grant.milli * weight / kMilliPerGpu;
    }
  }
  return std::max(gpus, cpus);
}

std::uint64_t charged_milli(const Cluster& cluster, const JobFacts& job, const Place& place) {
  const std::uint64_t milli = weighted_milli(cluster, place);
  const QosConfig* qos = job.qos().empty() ? nullptr : cluster.find_qos(job.qos());
  return qos == nullptr ? milli : milli * qos->usage_milli / 1000;
}

}  // namespace muster
