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
  holds_.clear();
  for (const LicenceConfig& licence : cluster.config().licences)
    totals_[licence.name] = licence.total;
  for (const auto& [key, attempt] : cluster.attempts()) take(cluster, key);
}

void Licences::take(const Cluster& cluster, const AttemptKey& key) {
  const JobTerms& terms = *cluster.find_job(key.job)->facts().terms;
  if (terms.licences.empty()) return;
  const Attempt& attempt = *cluster.find_attempt(key);
  const Duration start = attempt.launched ? Duration{} : cluster.config().limits.prepare_timeout;
  take(key, terms, end_known(cluster, attempt) + start);
}

void Licences::take(const AttemptKey& key, const JobTerms& terms, Instant end) {
  for (const LicenceCount& licence : terms.licences) {
    const auto [hold, is_new] =
        holds_[licence.name].try_emplace(key, Hold{licence.count, end, terms.reservation});
    hold->second.end = end;
    if (is_new) used_[licence.name] += licence.count;
  }
}

void Licences::give(const AttemptKey& key, const JobTerms& terms) {
  for (const LicenceCount& licence : terms.licences) {
    const auto used = used_.find(licence.name);
    MUSTER_ASSERT(used != used_.end() && used->second >= licence.count);
    used->second -= licence.count;
    if (used->second == 0) used_.erase(used);
    const auto holds = holds_.find(licence.name);
    holds->second.erase(key);
    if (holds->second.empty()) holds_.erase(holds);
  }
}

const Licences::Holds& Licences::holds(const std::string& name) const {
  static const Holds kNone;
  const auto found = holds_.find(name);
  return found == holds_.end() ? kNone : found->second;
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
  std::set<std::string> names;
  for (const LicenceConfig& licence : cluster.config().licences) names.insert(licence.name);
  std::sort(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const LicenceCount& licence = wanted[i];
    if (names.count(licence.name) == 0) {
      return fail(ErrorCode::kNotFound, "--licences: there is no licence " +
                                            escape_for_terminal(licence.name) +
                                            suggestion(licence.name, names));
    }
    if (i != 0 && wanted[i - 1].name == licence.name)
      return fail(ErrorCode::kInvalid, "--licences: " + licence.name + " is asked for twice");
    if (licence.count == 0)
      return fail(ErrorCode::kInvalid, "--licences: 0 of " + licence.name + "; leave it out");
  }
  return wanted;
}

Result<void> check_enough(const Cluster& cluster, const std::vector<LicenceCount>& wanted) {
  for (const LicenceConfig& licence : cluster.config().licences) {
    const std::uint32_t count = count_in(wanted, licence.name);
    if (count <= licence.total) continue;
    return fail(ErrorCode::kInvalid, "can never run: asks for " + std::to_string(count) +
                                         " of licence " + licence.name + ", and there are " +
                                         std::to_string(licence.total));
  }
  return {};
}

std::uint32_t count_in(const std::vector<LicenceCount>& counts, const std::string& name) {
  for (const LicenceCount& one : counts) {
    if (one.name == name) return one.count;
  }
  return 0;
}

namespace {

// What running jobs hold when the window begins, or now, and what is kept then beyond what the
// reservations' own jobs hold. Those that ever meet count as if they did then: a later occurrence
// may.
std::uint64_t bound_in(const Conflict& conflict, Instant now, const Licences::Holds& holds,
                       const std::vector<Conflict>& windows, const std::string& name) {
  const Instant at = std::max(now, conflict.window.from);
  std::uint64_t bound = 0;
  std::map<std::string, std::uint64_t> own;  // By reservation.
  for (const auto& [key, hold] : holds) {
    if (hold.end <= at) continue;
    bound += hold.count;
    if (!hold.reservation.empty()) own[hold.reservation] += hold.count;
  }
  for (const auto& [reservation, window] : windows) {
    if (reservation != conflict.reservation && !ever_meet(*reservation, *conflict.reservation))
      continue;
    const std::uint64_t kept = count_in(reservation->licences, name);
    const std::uint64_t held = reservation->maintenance ? 0 : own[reservation->name];
    bound += kept > held ? kept - held : 0;
  }
  return bound;
}

}  // namespace

std::optional<KeptLicence> find_kept(const Licences& licences, const Calendar& calendar,
                                     const JobTerms& terms, Instant now) {
  if (terms.licences.empty() || !calendar.keeps_licences()) return std::nullopt;
  const std::vector<Conflict> windows = calendar.licence_windows(terms, now);
  for (const LicenceCount& wanted : terms.licences) {
    for (const Conflict& conflict : windows) {
      const std::uint32_t kept = count_in(conflict.reservation->licences, wanted.name);
      if (kept == 0) continue;
      const std::uint64_t bound =
          bound_in(conflict, now, licences.holds(wanted.name), windows, wanted.name);
      if (bound + wanted.count > licences.total(wanted.name))
        return KeptLicence{wanted, kept, conflict};
    }
  }
  return std::nullopt;
}

namespace {

struct Holder {
  Instant end;
  AttemptKey key;
  std::uint32_t count = 0;
};

// The first to end by time limits first.
std::vector<Holder> holders_of(const Cluster& cluster, const Licences& licences,
                               const std::string& name, Instant now) {
  std::vector<Holder> holders;
  for (const auto& [key, hold] : licences.holds(name)) {
    const Instant end = std::max(now, end_known(cluster, *cluster.find_attempt(key)));
    holders.push_back({end, key, hold.count});
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return std::tie(a.end, a.key) < std::tie(b.end, b.key);
  });
  return holders;
}

}  // namespace

void explain_kept(Explanation& why, const Calendar& calendar, const JobTerms& terms,
                  const KeptLicence& kept, Instant now) {
  const auto& [reservation, window] = kept.conflict;
  why.reason = WaitReason::kReserved;
  why.sentence = "needs " + std::to_string(kept.wanted.count) + " of licence " + kept.wanted.name +
                 ", and " + std::to_string(kept.kept) + " are kept for reservation " +
                 reservation->name + " " + owners_text(*reservation);
  if (window.from <= now) {
    why.sentence += " until " + to_rfc3339(calendar.wall_of(window.until)) + ", for " +
                    to_text(window.until - now);
    return;
  }
  why.sentence +=
      " from " + to_rfc3339(calendar.wall_of(window.from)) + ", in " + to_text(window.from - now);
  const Duration more = calendar.run_of(terms, now).until - window.from;
  const Duration limit = terms.time_limit - more;
  if (limit < minutes(1)) return;
  why.sentence += "; with a time limit of at most " + to_text(limit) + " it would end before that";
}

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
  const std::vector<Holder> holders = holders_of(cluster, licences, name, now);
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
