// Counting what is held.
#include "controller/core/decide/limit_book.h"

#include <algorithm>

#include "controller/core/decide/horizon.h"

namespace muster {
namespace {

constexpr std::size_t kAccountsDeepMax = 64;  // A tree has no cycle; this ends a walk all the same.

bool has_limit(const ClusterConfig& config) {
  const auto queue_has = [](const auto& one) {
    return !one.limits.is_none() || !one.user_limits.is_none() || !one.account_limits.is_none();
  };
  const auto account_has = [](const AccountConfig& one) {
    return !one.limits.is_none() || !one.user_limits.is_none();
  };
  const auto user_has = [](const UserConfig& one) { return !one.limits.is_none(); };
  return std::any_of(config.queues.begin(), config.queues.end(), queue_has) ||
         std::any_of(config.qos.begin(), config.qos.end(), queue_has) ||
         std::any_of(config.accounts.begin(), config.accounts.end(), account_has) ||
         std::any_of(config.users.begin(), config.users.end(), user_has);
}

const Limits* limits_of_user(const Cluster& cluster, std::string_view user) {
  const Limits* every = nullptr;
  for (const UserConfig& known : cluster.config().users) {
    if (known.name == user) return &known.limits;
    if (known.name == kEveryUser) every = &known.limits;
  }
  return every;
}

std::uint64_t milli_s(const Holding& holding) {
  return holding.gpus_milli *
         static_cast<std::uint64_t>(std::max<std::int64_t>(holding.time.seconds(), 0));
}

// What the tally's limits on running jobs make of one more.
template <class Each>
void each_amount(const LimitBook::Tally& tally, const Holding& holding, Instant now, Each each) {
  const Limits& limits = tally.limits;
  const auto check = [&](LimitKind kind, std::uint64_t limit, std::uint64_t used,
                         std::uint64_t asked) {
    if (limit != 0 && asked != 0 && used + asked > limit)
      each(LimitAmount{kind, limit, used, asked});
  };
  check(LimitKind::kRunningJobs, limits.running_jobs, tally.running, 1);
  check(LimitKind::kGpus, std::uint64_t{limits.gpus} * kMilliPerGpu, tally.held.gpus_milli,
        holding.gpus_milli);
  check(LimitKind::kCpus, limits.cpus, tally.held.cpus, holding.cpus);
  check(LimitKind::kNodes, limits.nodes, tally.held.nodes, holding.nodes);
  if (limits.gpu_minutes != 0) {
    check(LimitKind::kGpuMinutes, limits.gpu_minutes * 60 * kMilliPerGpu, tally.gpu_milli_s(now),
          milli_s(holding));
  }
}

}  // namespace

Holding holding_of(const JobTerms& terms) {
  Holding holding;
  holding.time = terms.time_limit;
  for (const Group& group : terms.groups) {
    holding.nodes += group.nodes_min;
    holding.cpus += std::uint64_t{group.nodes_min} * group.cpus_per_node;
    holding.gpus_milli += std::uint64_t{group.nodes_min} * group.gpus_per_node * group.gpu_milli;
  }
  return holding;
}

Holding holding_of(const Place& place, Duration time) {
  Holding holding;
  holding.time = time;
  holding.nodes = place.members.size();
  for (const Member& member : place.members) {
    holding.cpus += member.cpus;
    for (const Grant& grant : member.grants) holding.gpus_milli += grant.milli;
  }
  return holding;
}

LimitParty party_of(const JobFacts& job) {
  return {job.uid(), job.user(), job.queue(), job.account(), job.qos()};
}

std::vector<const AccountConfig*> line_of_accounts(const Cluster& cluster,
                                                   std::string_view account) {
  std::vector<const AccountConfig*> line;
  const AccountConfig* at = cluster.find_account(account);
  for (; at != nullptr && line.size() < kAccountsDeepMax; at = cluster.find_account(at->parent))
    line.push_back(at);
  return line;
}

bool is_within(const Cluster& cluster, std::string_view account, std::string_view above) {
  const auto line = line_of_accounts(cluster, account);
  return std::any_of(line.begin(), line.end(),
                     [&](const AccountConfig* one) { return one->name == above; });
}

WaitReason reason_of(const LimitScope& scope) {
  switch (scope.owner) {
    case LimitOwner::kUser:
      return WaitReason::kUserLimit;
    case LimitOwner::kAccount:
      return WaitReason::kAccountLimit;
    case LimitOwner::kQueue:
      return WaitReason::kQueueLimit;
    case LimitOwner::kQos:
      break;
  }
  return WaitReason::kQosLimit;
}

// What is over its time limit counts for nothing.
std::uint64_t LimitBook::Tally::gpu_milli_s(Instant now) const {
  const std::int64_t now_s = now.us / 1000000;
  std::uint64_t milli = launched_milli;
  std::uint64_t sum = milli_ends_s;
  for (auto it = ends.begin(); it != ends.end() && it->first <= now_s; ++it) {
    milli -= it->second;
    sum -= it->second * static_cast<std::uint64_t>(it->first);
  }
  return unlaunched_milli_s + sum - milli * static_cast<std::uint64_t>(now_s);
}

void LimitBook::rebuild(const Cluster& cluster) {
  tallies_.clear();
  parties_.clear();
  quotas.rebuild(cluster);
  has_any_ = has_limit(cluster.config());
  if (!has_any_) return;
  for (const auto& [id, job] : cluster.jobs()) {
    if (!job.is_ended()) enter(cluster, job.facts());
  }
  for (const auto& [key, attempt] : cluster.attempts()) hold(cluster, attempt);
}

void LimitBook::add(std::vector<Tally*>& to, LimitScope scope, const Limits& limits) {
  if (limits.is_none()) return;
  Tally& tally = tallies_[scope];
  tally.scope = std::move(scope);
  tally.limits = limits;
  to.push_back(&tally);
}

std::vector<LimitBook::Tally*> LimitBook::collect(const Cluster& cluster, const LimitParty& party) {
  using O = LimitOwner;
  using E = LimitEach;
  std::vector<Tally*> found;
  if (const Limits* limits = limits_of_user(cluster, party.user))
    add(found, {O::kUser, E::kAll, party.uid, std::string(party.user), ""}, *limits);
  const auto accounts = line_of_accounts(cluster, party.account);
  for (const AccountConfig* account : accounts) {
    add(found, {O::kAccount, E::kAll, {}, account->name, ""}, account->limits);
    add(found, {O::kAccount, E::kUser, party.uid, account->name, ""}, account->user_limits);
  }
  const auto add_owner = [&](O owner, const auto& config) {
    add(found, {owner, E::kAll, {}, config.name, ""}, config.limits);
    add(found, {owner, E::kUser, party.uid, config.name, ""}, config.user_limits);
    for (const AccountConfig* account : accounts)
      add(found, {owner, E::kAccount, {}, config.name, account->name}, config.account_limits);
  };
  if (const QueueConfig* queue = cluster.find_queue(party.queue)) add_owner(O::kQueue, *queue);
  if (const QosConfig* qos = party.qos.empty() ? nullptr : cluster.find_qos(party.qos))
    add_owner(O::kQos, *qos);
  return found;
}

const std::vector<LimitBook::Tally*>& LimitBook::tallies(const Cluster& cluster,
                                                         const LimitParty& party) {
  static const std::vector<Tally*> kNone;
  if (!has_any_) return kNone;
  const auto known = parties_.find(party);
  if (known != parties_.end()) return known->second;
  const PartyKey key{party.uid, std::string(party.queue), std::string(party.account),
                     std::string(party.qos)};
  return parties_.emplace(key, collect(cluster, party)).first->second;
}

void LimitBook::enter(const Cluster& cluster, const JobFacts& job) {
  for (Tally* tally : tallies(cluster, party_of(job))) ++tally->queued;
}

void LimitBook::leave(const Cluster& cluster, const JobFacts& job) {
  for (Tally* tally : tallies(cluster, party_of(job))) {
    MUSTER_ASSERT(tally->queued != 0);
    --tally->queued;
  }
}

// Sums wrap around and back: what is added is taken away again.
void LimitBook::count_minutes(Tally& tally, const Attempt& attempt, const Holding& holding,
                              bool begins) {
  if (tally.limits.gpu_minutes == 0 || holding.gpus_milli == 0) return;
  const auto count = [begins](std::uint64_t& sum, std::uint64_t by) {
    sum = begins ? sum + by : sum - by;
  };
  if (!attempt.launched) return count(tally.unlaunched_milli_s, milli_s(holding));
  const std::int64_t end = end_by_limit(attempt, holding.time).us / 1000000;
  count(tally.launched_milli, holding.gpus_milli);
  count(tally.milli_ends_s, holding.gpus_milli * static_cast<std::uint64_t>(end));
  count(tally.ends[end], holding.gpus_milli);
  if (tally.ends[end] == 0) tally.ends.erase(end);
}

void LimitBook::begin(const Cluster& cluster, const Attempt& attempt) {
  quotas.begin(cluster, attempt);
  if (has_any_) hold(cluster, attempt);
}

void LimitBook::hold(const Cluster& cluster, const Attempt& attempt) {
  const JobFacts& job = cluster.find_job(attempt.key.job)->facts();
  const Holding holding = holding_of(*attempt.place, job.time_limit());
  for (Tally* tally : tallies(cluster, party_of(job))) {
    ++tally->running;
    tally->held.gpus_milli += holding.gpus_milli;
    tally->held.cpus += holding.cpus;
    tally->held.nodes += holding.nodes;
    count_minutes(*tally, attempt, holding, true);
  }
}

void LimitBook::end(const Cluster& cluster, const Attempt& attempt) {
  quotas.end(cluster, attempt);
  if (!has_any_) return;
  const JobFacts& job = cluster.find_job(attempt.key.job)->facts();
  const Holding holding = holding_of(*attempt.place, job.time_limit());
  for (Tally* tally : tallies(cluster, party_of(job))) {
    MUSTER_ASSERT(tally->running != 0 && tally->held.gpus_milli >= holding.gpus_milli);
    --tally->running;
    tally->held.gpus_milli -= holding.gpus_milli;
    tally->held.cpus -= holding.cpus;
    tally->held.nodes -= holding.nodes;
    count_minutes(*tally, attempt, holding, false);
  }
}

std::optional<Breach> LimitBook::find_breach(const Cluster& cluster, const LimitParty& party,
                                             const Holding& holding, Instant now) {
  std::optional<Breach> found;
  for (const Tally* tally : tallies(cluster, party)) {
    each_amount(*tally, holding, now, [&](const LimitAmount& amount) {
      if (!found) found = Breach{tally->scope, amount};
    });
    if (found) break;
  }
  return found;
}

std::vector<Breach> LimitBook::breaches(const Cluster& cluster, const LimitParty& party,
                                        const Holding& holding, Instant now) {
  std::vector<Breach> found;
  for (const Tally* tally : tallies(cluster, party)) {
    each_amount(*tally, holding, now, [&](const LimitAmount& amount) {
      found.push_back({tally->scope, amount});
    });
  }
  return found;
}

}  // namespace muster
