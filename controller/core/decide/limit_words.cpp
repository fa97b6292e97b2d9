// Saying which limit, its value, and who uses it up.
#include "controller/core/decide/limit_words.h"

#include <algorithm>

#include "controller/core/decide/horizon.h"

namespace muster {
namespace {

constexpr std::size_t kHoldersShown = 3;
constexpr std::size_t kBreachesShown = 4;
constexpr std::uint64_t kMinute = std::uint64_t{60} * kMilliPerGpu;  // In milli-GPU seconds.

std::string plural(std::uint64_t count, std::string_view word) {
  return std::to_string(count) + " " + std::string(word) + (count == 1 ? "" : "s");
}

std::string number_text(LimitKind kind, std::uint64_t amount) {
  if (kind == LimitKind::kGpus) return milli_text(amount);
  if (kind == LimitKind::kGpuMinutes) return std::to_string((amount + kMinute - 1) / kMinute);
  return std::to_string(amount);
}

std::string amount_text(LimitKind kind, std::uint64_t amount) {
  const bool is_one = number_text(kind, amount) == "1";
  const auto with = [&](std::string_view word) {
    return number_text(kind, amount) + " " + std::string(word) + (is_one ? "" : "s");
  };
  switch (kind) {
    case LimitKind::kRunningJobs:
    case LimitKind::kQueuedJobs:
      return with("job");
    case LimitKind::kGpus:
      return with("GPU");
    case LimitKind::kCpus:
      return with("CPU");
    case LimitKind::kNodes:
      return with("node");
    case LimitKind::kGpuMinutes:
      return with("GPU-minute");
    case LimitKind::kTimeMax:
      return to_text(seconds(static_cast<std::int64_t>(amount)));
    case LimitKind::kArrayElements:
      return with("element");
  }
  return "";
}

// "may run 4 jobs at once".
std::string allowance_text(const LimitAmount& amount) {
  const std::string much = amount_text(amount.kind, amount.limit);
  switch (amount.kind) {
    case LimitKind::kRunningJobs:
      return "may run " + much + " at once";
    case LimitKind::kQueuedJobs:
      return "may have " + much + " in the queue";
    case LimitKind::kGpuMinutes:
      return "may have " + much + " running (GPUs times what is left of the time limits)";
    case LimitKind::kTimeMax:
      return "may ask for " + much + " at most";
    case LimitKind::kArrayElements:
      return "may have arrays of " + much + " at most";
    default:
      return "may use " + much + " at once";
  }
}

bool counts_for(const Cluster& cluster, const LimitScope& scope, const JobFacts& job) {
  switch (scope.owner) {
    case LimitOwner::kUser:
      return job.uid() == scope.uid;
    case LimitOwner::kAccount:
      if (!is_within(cluster, job.account(), scope.name)) return false;
      break;
    case LimitOwner::kQueue:
      if (job.queue() != scope.name) return false;
      break;
    case LimitOwner::kQos:
      if (job.qos() != scope.name) return false;
      break;
  }
  if (scope.each == LimitEach::kUser) return job.uid() == scope.uid;
  return scope.each != LimitEach::kAccount || is_within(cluster, job.account(), scope.account);
}

std::uint64_t amount_of(LimitKind kind, const Holding& holding) {
  switch (kind) {
    case LimitKind::kGpus:
      return holding.gpus_milli;
    case LimitKind::kCpus:
      return holding.cpus;
    case LimitKind::kNodes:
      return holding.nodes;
    case LimitKind::kGpuMinutes:
      return holding.gpus_milli *
             static_cast<std::uint64_t>(std::max<std::int64_t>(holding.time.seconds(), 0));
    default:
      return 1;
  }
}

// What counts against one limit now.
class Holders {
 public:
  Holders(const Cluster& cluster, const Breach& breach, Instant now) : breach_(breach) {
    const bool by_job =
        breach.scope.owner == LimitOwner::kUser || breach.scope.each == LimitEach::kUser;
    for (const auto& [key, attempt] : cluster.attempts()) {
      const Job& job = *cluster.find_job(key.job);
      const JobFacts& facts = job.facts();
      if (!counts_for(cluster, breach.scope, facts)) continue;
      const Instant end = std::max(now, end_known(cluster, attempt));
      const Holding holding =
          holding_of(*attempt.place, attempt.launched ? end - now : facts.time_limit());
      const std::uint64_t amount = amount_of(breach.amount.kind, holding);
      if (amount == 0) continue;
      used_by_[by_job ? "job " + to_text(key.element_key(), job.is_array()) : facts.user()] +=
          amount;
      ends_.push_back({end, key, amount});
    }
  }

  // "kim 4, lee 3 and 2 others".
  std::string text() const {
    std::vector<std::pair<std::string, std::uint64_t>> most(used_by_.begin(), used_by_.end());
    std::stable_sort(most.begin(), most.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < most.size() && i < kHoldersShown; ++i) {
      text += (i == 0 ? "" : ", ") + most[i].first;
      if (breach_.amount.kind != LimitKind::kRunningJobs || most[i].second != 1)
        text += " " + number_text(breach_.amount.kind, most[i].second);
    }
    if (most.size() > kHoldersShown) text += " and " + plural(most.size() - kHoldersShown, "other");
    return text;
  }

  struct End {
    Instant at;
    AttemptKey key;
    std::uint64_t amount = 0;
  };
  // The end after which the job fits under the limit. Null: none alone decides.
  const End* last_needed() {
    if (breach_.amount.kind == LimitKind::kGpuMinutes) return nullptr;
    std::stable_sort(ends_.begin(), ends_.end(),
                     [](const End& a, const End& b) { return a.at < b.at; });
    std::uint64_t left = breach_.amount.used + breach_.amount.asked;
    for (const End& end : ends_) {
      left -= std::min(left, end.amount);
      if (left <= breach_.amount.limit) return &end;
    }
    return nullptr;
  }

 private:
  const Breach& breach_;
  std::map<std::string, std::uint64_t> used_by_;
  std::vector<End> ends_;
};

std::string reached_text(const Breach& breach, const Holders& holders) {
  const LimitAmount& amount = breach.amount;
  std::string text = scope_text(breach.scope) + " " + allowance_text(amount) + ": ";
  const std::string who = holders.text();
  if (amount.kind == LimitKind::kRunningJobs) {
    text += amount.used == 1 ? "1 runs" : std::to_string(amount.used) + " run";
    return text + (who.empty() ? "" : " (" + who + ")");
  }
  const std::string used = number_text(amount.kind, amount.used);
  text += used + (used == "1" ? " is" : " are");
  text += amount.kind == LimitKind::kGpuMinutes ? " left of what runs" : " in use";
  if (!who.empty()) text += " (" + who + ")";
  return text + ", and this job asks for " + number_text(amount.kind, amount.asked);
}

}  // namespace

std::string milli_text(std::uint64_t milli) {
  std::string text = std::to_string(milli / kMilliPerGpu);
  const std::uint64_t rest = milli % kMilliPerGpu;
  if (rest == 0) return text;
  std::string digits = std::to_string(kMilliPerGpu + rest).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

std::string scope_text(const LimitScope& scope) {
  std::string owner;
  switch (scope.owner) {
    case LimitOwner::kUser:
      return "user " + scope.name;
    case LimitOwner::kAccount:
      owner = "account " + scope.name;
      break;
    case LimitOwner::kQueue:
      owner = "queue " + scope.name;
      break;
    case LimitOwner::kQos:
      owner = "QOS " + scope.name;
      break;
  }
  if (scope.each == LimitEach::kUser) return "each user of " + owner;
  if (scope.each == LimitEach::kAccount) return "account " + scope.account + " in " + owner;
  return owner;
}

std::string never_text(const Breach& breach) {
  const LimitAmount& amount = breach.amount;
  const std::string asked = amount.kind == LimitKind::kTimeMax
                                ? amount_text(amount.kind, amount.asked)
                                : number_text(amount.kind, amount.asked);
  return scope_text(breach.scope) + " " + allowance_text(amount) + ", and this job asks for " +
         asked;
}

void explain_limits(const Cluster& cluster, const std::vector<Breach>& breaches, Instant now,
                    Explanation& why) {
  why.reason = reason_of(breaches.front().scope);
  const auto never = std::find_if(breaches.begin(), breaches.end(),
                                  [](const Breach& one) { return one.is_for_ever(); });
  if (never != breaches.end()) {
    why.reason = WaitReason::kNeverPossible;
    why.sentence =
        "can no longer run: " + never_text(*never) + "; cancel it, or move it with gpujob set";
    return;
  }
  bool is_known = true;
  for (std::size_t i = 0; i < breaches.size() && i < kBreachesShown; ++i) {
    Holders holders(cluster, breaches[i], now);
    why.sentence += (i == 0 ? "" : "; also, ") + reached_text(breaches[i], holders);
    const Holders::End* last = holders.last_needed();
    is_known = is_known && last != nullptr;
    if (last == nullptr || (why.start_latest && *why.start_latest >= last->at)) continue;
    why.start_latest = last->at;
    why.frees_last = last->key;
  }
  if (!is_known || breaches.size() > kBreachesShown) {
    why.start_latest.reset();
    why.frees_last.reset();
    why.sentence += "; it may start as these end, and holds back nobody else";
    return;
  }
  why.sentence += "; the end of job " + std::to_string(why.frees_last->job.value) +
                  " makes room under the limit, in " + to_text(*why.start_latest - now) +
                  " at the latest; others are not held back by it";
}

}  // namespace muster
