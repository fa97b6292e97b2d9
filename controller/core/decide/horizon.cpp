// Keeping the ends in order.
#include "controller/core/decide/horizon.h"

#include <algorithm>
#include <limits>

#include "controller/core/decide/shortest.h"

namespace muster {

namespace {

constexpr std::uint32_t kMaskBits = 64;

// A granted device that the node no longer has is passed over.
void fill_devices(Stay& stay, const Node& node, const Member& member) {
  for (const Grant& grant : member.grants) {
    const auto found = std::find(node.device_ids.begin(), node.device_ids.end(), grant.device);
    if (found == node.device_ids.end()) continue;
    const auto index = static_cast<std::uint32_t>(found - node.device_ids.begin());
    if (grant.milli == kMilliPerGpu && index < kMaskBits)
      stay.whole |= std::uint64_t{1} << index;
    else
      stay.parts.emplace_back(index, grant.milli);
  }
}

Instant begin_of(const Attempt& attempt) {
  return attempt.launched ? attempt.launched_at : attempt.started_at;
}

Instant end_expected(const Outlook& outlook, const Attempt& attempt, const Job& job) {
  const Instant limit = end_known(outlook.cluster, attempt);
  if (attempt.stopping() || !is_predicted(outlook.cluster, *job.facts().terms)) return limit;
  const Duration age = std::max(outlook.now - begin_of(attempt), Duration{});
  return std::min(limit,
                  outlook.now + outlook.forecast.remaining(outlook.cluster, job.facts(), age));
}

// Among those whose jobs are stopped for jobs of others.
template <class Object>
bool is_named_by(const std::vector<Object>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const Object& one) {
    return std::find(one.preempts.begin(), one.preempts.end(), name) != one.preempts.end();
  });
}

// What all members have in common.
Stay stay_of(const Outlook& outlook, const Attempt& attempt, const Job& job) {
  const Cluster& cluster = outlook.cluster;
  Stay stay;
  stay.end = end_expected(outlook, attempt, job);
  stay.attempt = attempt.key;
  stay.since = begin_of(attempt);
  stay.stopping = attempt.state == AttemptState::kStopping;
  const std::vector<QueueConfig>& queues = cluster.config().queues;
  const auto queue = std::find_if(queues.begin(), queues.end(), [&](const QueueConfig& one) {
    return one.name == job.facts().queue();
  });
  stay.queue = static_cast<std::uint32_t>(queue - queues.begin());
  const std::vector<QosConfig>& qos = cluster.config().qos;
  const auto own_qos = std::find_if(
      qos.begin(), qos.end(), [&](const QosConfig& one) { return one.name == job.facts().qos(); });
  stay.qos = static_cast<std::uint32_t>(own_qos - qos.begin());
  const bool is_victim =
      is_named_by(queues, job.facts().queue()) || is_named_by(qos, job.facts().qos());
  if (orders_by_service(cluster, *job.facts().terms) && job.facts().terms->requeue)
    stay.before = service_of(job, attempt.key.element, stay.since);
  if (is_victim || stay.before) stay.worth = weighted_milli(cluster, *attempt.place);
  return stay;
}

}  // namespace

Instant end_by_limit(const Attempt& attempt, Duration limit) { return begin_of(attempt) + limit; }

Instant end_known(const Cluster& cluster, const Attempt& attempt) {
  const JobFacts& facts = cluster.find_job(attempt.key.job)->facts();
  const Instant end = end_by_limit(attempt, facts.time_limit());
  const QueueConfig* queue = cluster.find_queue(facts.queue());
  if (!attempt.stopping() || queue == nullptr) return end;
  return std::min(end, attempt.stopping_at() + queue->kill_wait);
}

void Horizon::rebuild(const Outlook& outlook) {
  nodes_.clear();
  for (const auto& [key, attempt] : outlook.cluster.attempts()) refresh(outlook, key);
}

std::optional<NodeId> Horizon::foresee(const Outlook& outlook, NodeId from, std::size_t count) {
  const std::size_t end = std::min(nodes_.size(), from.value + count);
  for (std::size_t i = from.value; i < end; ++i) {
    std::vector<Stay>& stays = nodes_[i];
    for (Stay& stay : stays) {
      const Attempt* attempt = outlook.cluster.find_attempt(stay.attempt);
      const Job* job = outlook.cluster.find_job(stay.attempt.job);
      if (attempt != nullptr && job != nullptr) stay.end = end_expected(outlook, *attempt, *job);
    }
    std::sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) {
      return std::tie(a.end, a.attempt) < std::tie(b.end, b.attempt);
    });
  }
  if (end == nodes_.size()) return std::nullopt;
  return NodeId{static_cast<std::uint32_t>(end)};
}

void Horizon::refresh(const Outlook& outlook, const AttemptKey& key) {
  const Cluster& cluster = outlook.cluster;
  const Attempt* attempt = cluster.find_attempt(key);
  const Job* job = cluster.find_job(key.job);
  if (attempt == nullptr || job == nullptr) return;
  remove(*attempt);
  insert(cluster, *attempt->place, stay_of(outlook, *attempt, *job));
}

void Horizon::enter(const Cluster& cluster, const AttemptKey& key, const Place& place,
                    Instant end) {
  Stay stay;
  stay.end = end;
  stay.attempt = key;
  stay.queue = std::numeric_limits<std::uint32_t>::max();
  stay.qos = std::numeric_limits<std::uint32_t>::max();
  insert(cluster, place, stay);
}

void Horizon::insert(const Cluster& cluster, const Place& place, const Stay& common) {
  for (const Member& member : place.members) {
    if (member.node.value >= nodes_.size()) nodes_.resize(member.node.value + 1);
    std::vector<Stay>& stays = nodes_[member.node.value];
    const auto at = std::find_if(stays.begin(), stays.end(), [&](const Stay& stay) {
      return std::tie(common.end, common.attempt) < std::tie(stay.end, stay.attempt);
    });
    Stay stay = common;
    stay.cpus = member.cpus;
    stay.memory_mib = member.memory_mib;
    if (const Node* node = cluster.find_node(member.node)) fill_devices(stay, *node, member);
    stays.insert(at, std::move(stay));
  }
}

void Horizon::remove(const Attempt& attempt) { leave(attempt.key, *attempt.place); }

void Horizon::leave(const AttemptKey& key, const Place& place) {
  for (const Member& member : place.members) {
    if (member.node.value >= nodes_.size()) continue;
    std::vector<Stay>& stays = nodes_[member.node.value];
    stays.erase(std::remove_if(stays.begin(), stays.end(),
                               [&](const Stay& stay) { return stay.attempt == key; }),
                stays.end());
  }
}

void Horizon::refresh_node(const Cluster& cluster, NodeId node) {
  if (node.value >= nodes_.size()) return;
  for (Stay& stay : nodes_[node.value]) {
    const Attempt* attempt = cluster.find_attempt(stay.attempt);
    const Member* member = attempt == nullptr ? nullptr : attempt->find_member(node);
    const Node* facts = cluster.find_node(node);
    stay.whole = 0;
    stay.parts.clear();
    if (member != nullptr && facts != nullptr) fill_devices(stay, *facts, *member);
  }
}

const std::vector<Stay>& Horizon::stays(NodeId node) const {
  static const std::vector<Stay> kNone;
  return node.value < nodes_.size() ? nodes_[node.value] : kNone;
}

}  // namespace muster
