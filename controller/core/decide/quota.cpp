// Counting what is guaranteed and what is borrowed.
#include "controller/core/decide/quota.h"

#include <algorithm>

#include "controller/core/decide/limit_book.h"

namespace muster {
namespace {

std::uint64_t milli_of(std::uint32_t gpus) { return std::uint64_t{gpus} * kMilliPerGpu; }

QuotaTally tally_of(const AccountConfig& account, const QuotaConfig& quota) {
  QuotaTally tally;
  tally.queue = quota.queue;
  tally.account = account.name;
  tally.guaranteed = milli_of(quota.guaranteed);
  if (quota.borrow_max) tally.borrow_max = milli_of(*quota.borrow_max);
  if (quota.lend_max) tally.unlent = milli_of(quota.guaranteed - *quota.lend_max);
  return tally;
}

bool is_of(const NodeClass& node_class, const QueueConfig& queue) {
  const auto& queues = node_class.traits.queues;
  return queue.nodes.empty() || std::binary_search(queues.begin(), queues.end(), queue.name);
}

}  // namespace

void QuotaBook::rebuild(const Cluster& cluster) {
  queues_.clear();
  for (const AccountConfig& account : cluster.config().accounts) {
    for (const QuotaConfig& quota : account.quotas) {
      Queue& queue = queues_[quota.queue];
      const QuotaTally tally = tally_of(account, quota);
      queue.kept += tally.kept();
      queue.has_unlent = queue.has_unlent || tally.unlent != 0;
      queue.owners.emplace(account.name, tally);
    }
  }
  if (queues_.empty()) return;
  for (const auto& [key, attempt] : cluster.attempts()) begin(cluster, attempt);
}

// The account, or the one above it, that has a quota; an account without any is its own owner.
QuotaTally* QuotaBook::owner(const Cluster& cluster, Queue& queue, std::string_view name,
                             std::string_view account) {
  if (const auto known = queue.by_account.find(account); known != queue.by_account.end())
    return known->second;
  QuotaTally* found = nullptr;
  for (const AccountConfig* at : line_of_accounts(cluster, account)) {
    const auto owner = queue.owners.find(at->name);
    if (owner == queue.owners.end()) continue;
    found = &owner->second;
    break;
  }
  if (found == nullptr) {
    QuotaTally own;
    own.queue = std::string(name);
    own.account = std::string(account);
    found = &queue.owners.emplace(own.account, own).first->second;
  }
  queue.by_account.emplace(std::string(account), found);
  return found;
}

void QuotaBook::count(const Cluster& cluster, const Attempt& attempt, bool begins) {
  const JobFacts& job = cluster.find_job(attempt.key.job)->facts();
  const auto queue = queues_.find(job.queue());
  if (queue == queues_.end()) return;
  const std::uint64_t milli = holding_of(*attempt.place, {}).gpus_milli;
  QuotaTally& tally = *owner(cluster, queue->second, job.queue(), job.account());
  Queue& sums = queue->second;
  sums.kept -= tally.kept();
  sums.reclaimable -= tally.reclaimable();
  const auto change = [&](std::uint64_t& sum) {
    MUSTER_ASSERT(begins || sum >= milli);
    sum = begins ? sum + milli : sum - milli;
  };
  change(sums.used);
  change(tally.used);
  if (attempt.state == AttemptState::kStopping) change(tally.leaving);
  sums.kept += tally.kept();
  sums.reclaimable += tally.reclaimable();
}

void QuotaBook::begin(const Cluster& cluster, const Attempt& attempt) {
  if (!is_empty()) count(cluster, attempt, true);
}

void QuotaBook::end(const Cluster& cluster, const Attempt& attempt) {
  if (!is_empty()) count(cluster, attempt, false);
}

void QuotaBook::measure(const Cluster& cluster, const Ledger& ledger) {
  for (auto& [name, queue] : queues_) {
    const QueueConfig* config = cluster.find_queue(name);
    if (!queue.has_unlent || config == nullptr) continue;
    std::vector<bool> counts;
    for (const NodeClass& node_class : ledger.classes())
      counts.push_back(is_of(node_class, *config));
    std::uint64_t gpus = 0;
    for (const NodeFree& node : ledger.nodes()) {
      if (!node.usable() || !counts[node.node_class]) continue;
      gpus += static_cast<std::uint64_t>(std::count_if(
          node.gpus.begin(), node.gpus.end(), [](const GpuFree& gpu) { return gpu.ready; }));
    }
    queue.capacity = gpus * kMilliPerGpu;
  }
}

const QuotaTally* QuotaBook::find(const Cluster& cluster, std::string_view queue,
                                  std::string_view account) {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? nullptr : owner(cluster, found->second, queue, account);
}

std::optional<QuotaBreach> QuotaBook::find_breach(const Cluster& cluster, std::string_view queue,
                                                  std::string_view account, std::uint64_t milli) {
  const auto found = queues_.find(queue);
  if (found == queues_.end() || milli == 0) return std::nullopt;
  const Queue& sums = found->second;
  const QuotaTally& tally = *owner(cluster, found->second, queue, account);
  const std::uint64_t after = tally.used + milli;
  if (after <= tally.guaranteed) return std::nullopt;
  if (tally.borrow_max && after > tally.guaranteed + *tally.borrow_max)
    return QuotaBreach{&tally, milli, {}};
  // Its own guarantee is used up: what is kept is kept by others.
  const std::uint64_t kept = sums.kept - tally.kept();
  if (kept == 0 || !sums.capacity || sums.used + milli + kept <= *sums.capacity)
    return std::nullopt;
  return QuotaBreach{&tally, milli, QuotaBreach::Pool{*sums.capacity, sums.used, kept}};
}

bool QuotaBook::is_borrowed_from(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found != queues_.end() && found->second.reclaimable != 0;
}

namespace {

// Of nodes that are in one of the queues.
std::uint64_t gpus_known(const Ledger& ledger, const std::vector<const QueueConfig*>& queues) {
  std::vector<bool> counts;
  for (const NodeClass& node_class : ledger.classes()) {
    counts.push_back(std::any_of(queues.begin(), queues.end(), [&](const QueueConfig* queue) {
      return is_of(node_class, *queue);
    }));
  }
  std::uint64_t gpus = 0;
  for (const NodeFree& node : ledger.nodes()) {
    if (node.exists && counts[node.node_class]) gpus += node.gpus.size();
  }
  return gpus;
}

std::string excess_text(const std::string& whose, std::uint64_t guaranteed, std::uint64_t there) {
  return whose + " guarantee " + std::to_string(guaranteed) + " GPUs, and the nodes known so far " +
         "have " + std::to_string(there) + ": not everybody can have what is guaranteed at once";
}

}  // namespace

std::vector<std::string> guarantee_warnings(const Cluster& cluster, const Ledger& ledger) {
  std::map<std::string, std::uint64_t> guaranteed;
  std::uint64_t sum = 0;
  for (const AccountConfig& account : cluster.config().accounts) {
    for (const QuotaConfig& quota : account.quotas) {
      guaranteed[quota.queue] += quota.guaranteed;
      sum += quota.guaranteed;
    }
  }
  std::vector<std::string> warnings;
  std::vector<const QueueConfig*> queues;
  for (const auto& [name, gpus] : guaranteed) {
    const QueueConfig* queue = cluster.find_queue(name);
    if (queue == nullptr) continue;
    queues.push_back(queue);
    const std::uint64_t there = gpus_known(ledger, {queue});
    if (there != 0 && gpus > there)
      warnings.push_back(excess_text("queue " + name + ": its quotas", gpus, there));
  }
  const std::uint64_t there = gpus_known(ledger, queues);
  if (warnings.empty() && there != 0 && sum > there)
    warnings.push_back(excess_text("the quotas of all queues together", sum, there));
  return warnings;
}

Reclaim::Reclaim(const Cluster& cluster, QuotaBook& book, const Claimant& claimant)
    : cluster_(cluster),
      book_(book),
      claimant_(claimant),
      own_(book.find(cluster, claimant.queue, claimant.account)) {}

bool Reclaim::takes_back(const AttemptKey& key) const {
  return claimant_.may_reclaim && cluster_.find_job(key.job)->facts().queue() == claimant_.queue;
}

bool Reclaim::is_guarded(const AttemptKey& key) const {
  if (claimant_.is_owed || book_.is_empty()) return false;
  const JobFacts& job = cluster_.find_job(key.job)->facts();
  const QuotaTally* owner = book_.find(cluster_, job.queue(), job.account());
  if (owner == nullptr || owner == own_) return false;
  return holding_of(*cluster_.find_attempt(key)->place, {}).gpus_milli != 0;
}

std::optional<Reclaim::Claim> Reclaim::claim_on(const AttemptKey& key) const {
  const JobFacts& job = cluster_.find_job(key.job)->facts();
  const QuotaTally* borrower = book_.find(cluster_, job.queue(), job.account());
  if (borrower == nullptr || borrower->reclaimable() == 0) return std::nullopt;
  const std::uint64_t milli = holding_of(*cluster_.find_attempt(key)->place, {}).gpus_milli;
  if (milli == 0 || milli > borrower->reclaimable()) return std::nullopt;
  return Claim{borrower, milli};
}

bool Reclaim::is_covered(const Taken& taken, const Claim& claim) {
  const auto found = taken.find(claim.borrower);
  const std::uint64_t gone = found == taken.end() ? 0 : found->second;
  return gone + claim.milli <= claim.borrower->reclaimable();
}

}  // namespace muster
