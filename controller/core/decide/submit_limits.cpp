// Refusing what a limit never allows, and what comes on top of a full queue.
#include "controller/core/decide/submit_limits.h"

#include <algorithm>

#include "base/types/text.h"
#include "controller/core/decide/limit_words.h"
#include "controller/core/decide/quota_words.h"

namespace muster {
namespace {

std::string names_text(const std::vector<QosConfig>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size() && i < 8; ++i) text += (i == 0 ? "" : ", ") + all[i].name;
  return text;
}

// The first limit that the job alone would break.
std::optional<LimitAmount> first_never(const Limits& limits, const JobTerms& terms) {
  const Holding holding = holding_of(terms);
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(holding.time.seconds(), 0));
  const std::uint64_t elements =
      terms.array.ranges.empty() ? 0 : std::uint64_t{elements_total(terms.array)};
  const LimitAmount asked[] = {
      {LimitKind::kGpus, std::uint64_t{limits.gpus} * kMilliPerGpu, 0, holding.gpus_milli},
      {LimitKind::kCpus, limits.cpus, 0, holding.cpus},
      {LimitKind::kNodes, limits.nodes, 0, holding.nodes},
      {LimitKind::kGpuMinutes, limits.gpu_minutes * 60 * kMilliPerGpu, 0,
       holding.gpus_milli * time},
      {LimitKind::kTimeMax,
       static_cast<std::uint64_t>(std::max<std::int64_t>(limits.time_max.seconds(), 0)), 0, time},
      {LimitKind::kArrayElements, limits.array_elements, 0, elements},
  };
  for (const LimitAmount& amount : asked) {
    if (amount.limit != 0 && amount.asked > amount.limit) return amount;
  }
  return std::nullopt;
}

bool same_party(const JobFacts& now, const JobTerms& terms) {
  return now.queue() == terms.queue && now.account() == terms.account && now.qos() == terms.qos;
}

}  // namespace

Result<void> SubmitLimits::check(Uid uid, const std::string& user, const JobTerms& terms,
                                 const JobFacts* now) {
  if (book_.is_empty()) return {};
  const auto quota =
      book_.quotas.find_breach(cluster_, terms.queue, terms.account, holding_of(terms).gpus_milli);
  if (quota && quota->is_for_ever()) {
    return fail(ErrorCode::kInvalid, "can never run: " + never_text(*quota) +
                                         "; ask for less, or for another queue or account");
  }
  const LimitParty party{uid, user, terms.queue, terms.account, terms.qos};
  const std::vector<LimitBook::Tally*>& tallies = book_.tallies(cluster_, party);
  for (LimitBook::Tally* tally : tallies) {
    if (const Result<void> checked = check_tally(*tally, terms, now); !checked) return checked;
  }
  for (const LimitBook::Tally* tally : tallies) ++added_[tally];
  return {};
}

Result<void> SubmitLimits::check_tally(LimitBook::Tally& tally, const JobTerms& terms,
                                       const JobFacts* now) {
  if (const auto never = first_never(tally.limits, terms)) {
    return fail(ErrorCode::kInvalid, "can never run: " + never_text({tally.scope, *never}) +
                                         "; ask for less, or for another queue, account or QOS");
  }
  const std::uint64_t queued = tally.queued + added_[&tally];
  const bool counts_already =
      now != nullptr && (same_party(*now, terms) || tally.scope.owner == LimitOwner::kUser);
  if (tally.limits.queued_jobs == 0 || counts_already || queued < tally.limits.queued_jobs)
    return {};
  return fail(ErrorCode::kLimit, "submit: " + scope_text(tally.scope) + " has " +
                                     std::to_string(queued) + " of at most " +
                                     std::to_string(tally.limits.queued_jobs) +
                                     " jobs in the queue; wait for some to end, or use an array");
}

Result<void> check_qos(const Cluster& cluster, const std::string& qos, const std::string& account) {
  if (qos.empty()) return {};
  const QosConfig* known = cluster.find_qos(qos);
  if (known == nullptr) {
    const std::string all = names_text(cluster.config().qos);
    return fail(ErrorCode::kNotFound,
                "--qos: there is no QOS " + escape_for_terminal(qos) +
                    (all.empty() ? "; none is configured; leave it out" : "; there are: " + all));
  }
  const auto& allowed = known->accounts;
  const bool may =
      allowed.empty() || std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
        return is_within(cluster, account, name);
      });
  if (may) return {};
  return fail(ErrorCode::kConflict, "--qos: account " + account + " may not use QOS " + qos);
}

}  // namespace muster
