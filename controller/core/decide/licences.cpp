// Counting licences, and telling who holds them.
#include "controller/core/decide/licences.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/types/text.h"
#include "controller/core/decide/horizon.h"
#include "controller/core/decide/known.h"

namespace muster {

void Licences::rebuild(const Cluster& cluster) {
  totals_.clear();
  used_.clear();
  for (const LicenceConfig& licence : cluster.config().licences)
    totals_[licence.name] = licence.total;
  for (const auto& [key, attempt] : cluster.attempts())
    take(cluster.find_job(key.job)->facts().terms->licences);
}

void Licences::take(const std::vector<LicenceCount>& counts) {
  for (const LicenceCount& licence : counts) used_[licence.name] += licence.count;
}

void Licences::give(const std::vector<LicenceCount>& counts) {
  for (const LicenceCount& licence : counts) {
    const auto used = used_.find(licence.name);
    MUSTER_ASSERT(used != used_.end() && used->second >= licence.count);
    used->second -= licence.count;
    if (used->second == 0) used_.erase(used);
  }
}

std::uint32_t Licences::total(const std::string& name) const {
  const auto found = totals_.find(name);
  return found == totals_.end() ? 0 : found->second;
}

// A total that was lowered leaves none free until enough have come back.
std::uint32_t Licences::free(const std::string& name) const {
  const auto used = used_.find(name);
  const std::uint32_t all = total(name);
  if (used == used_.end()) return all;
  return used->second >= all ? 0 : all - static_cast<std::uint32_t>(used->second);
}

std::vector<LicenceUse> Licences::all() const {
  std::vector<LicenceUse> all;
  for (const auto& [name, total] : totals_) {
    const auto used = used_.find(name);
    all.push_back({name, total, used == used_.end() ? 0 : used->second, free(name)});
  }
  return all;
}

const LicenceCount* Licences::find_lacking(const std::vector<LicenceCount>& wanted) const {
  for (const LicenceCount& licence : wanted) {
    if (free(licence.name) < licence.count) return &licence;
  }
  return nullptr;
}

Result<std::vector<LicenceCount>> check_licences(const Cluster& cluster,
                                                 std::vector<LicenceCount> wanted) {
  if (wanted.size() > kLicencesPerJobMax) {
    return fail(ErrorCode::kLimit,
                "--licences: more than " + std::to_string(kLicencesPerJobMax) + " kinds");
  }
  std::map<std::string, std::uint32_t> totals;
  std::set<std::string> names;
  for (const LicenceConfig& licence : cluster.config().licences) {
    totals[licence.name] = licence.total;
    names.insert(licence.name);
  }
  std::sort(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const LicenceCount& licence = wanted[i];
    const auto total = totals.find(licence.name);
    if (total == totals.end()) {
      return fail(ErrorCode::kNotFound, "--licences: there is no licence " +
                                            escape_for_terminal(licence.name) +
                                            suggestion(licence.name, names));
    }
    if (i != 0 && wanted[i - 1].name == licence.name)
      return fail(ErrorCode::kInvalid, "--licences: " + licence.name + " is asked for twice");
    if (licence.count == 0)
      return fail(ErrorCode::kInvalid, "--licences: 0 of " + licence.name + "; leave it out");
    if (licence.count > total->second) {
      return fail(ErrorCode::kInvalid, "can never run: asks for " + std::to_string(licence.count) +
                                           " of licence " + licence.name + ", and there are " +
                                           std::to_string(total->second));
    }
  }
  return wanted;
}

namespace {

struct Holder {
  Instant end;
  AttemptKey key;
  std::uint32_t count = 0;
};

// The first to end by time limits first.
std::vector<Holder> holders_of(const Cluster& cluster, const std::string& name, Instant now) {
  std::vector<Holder> holders;
  for (const auto& [key, attempt] : cluster.attempts()) {
    const JobFacts& facts = cluster.find_job(key.job)->facts();
    for (const LicenceCount& licence : facts.terms->licences) {
      if (licence.name != name) continue;
      const Instant end = std::max(now, end_known(cluster, attempt));
      holders.push_back({end, key, licence.count});
    }
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return std::tie(a.end, a.key) < std::tie(b.end, b.key);
  });
  return holders;
}

}  // namespace

void explain_licence(Explanation& why, const Cluster& cluster, const Licences& licences,
                     const LicenceCount& lacking, Instant now) {
  constexpr std::size_t kHoldersShown = 8;
  const std::string& name = lacking.name;
  const std::uint32_t total = licences.total(name);
  const std::uint32_t free = licences.free(name);
  why.reason = total < lacking.count ? WaitReason::kNeverPossible : WaitReason::kNoFreeLicence;
  why.sentence = "needs " + std::to_string(lacking.count) + " of licence " + name + ", of which " +
                 std::to_string(free) + " of " + std::to_string(total) +
                 (free == 1 ? " is free" : " are free");
  const std::vector<Holder> holders = holders_of(cluster, name, now);
  std::uint64_t soon = free;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const Holder& holder = holders[i];
    const JobFacts& facts = cluster.find_job(holder.key.job)->facts();
    if (i < kHoldersShown) {
      why.sentence += (i == 0 ? "; held by job " : ", job ") +
                      to_text(ElementKey{holder.key.job, holder.key.element}, facts.is_array()) +
                      " of " + facts.user() + " (" + std::to_string(holder.count) + ")";
    }
    soon += holder.count;
    if (why.frees_last || soon < lacking.count || total < lacking.count) continue;
    why.frees_last = holder.key;
    why.start_latest = holder.end;
  }
  if (holders.size() > kHoldersShown)
    why.sentence += " and " + std::to_string(holders.size() - kHoldersShown) + " more";
  if (why.frees_last) {
    why.sentence += "; enough are free when job " + std::to_string(why.frees_last->job.value) +
                    " ends, in " + to_text(*why.start_latest - now) + " at the latest";
  }
  if (total < lacking.count) why.sentence += "; cancel it, or ask for less";
}

}  // namespace muster
