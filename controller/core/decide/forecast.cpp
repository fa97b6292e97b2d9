// What follows from the counts.
#include "controller/core/decide/forecast.h"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

// How many jobs' worth the wider likeness counts beside a likeness's own, by
// level.
constexpr std::array<std::int64_t, kLikenessLevels> kLean{3, 10, 5, 2, 2};
// Chances in parts of this.
constexpr std::int64_t kAll = std::int64_t{1} << 20;
constexpr std::int64_t kChanceUnknown = kAll * 12 / 100;  // Of a bin, before anything was seen.
constexpr std::int64_t kChanceMax = kAll * 99 / 100;
constexpr std::int64_t kSurvivorsMin = kAll / 10000;        // Fewer make no difference to a mean.
constexpr std::int64_t kLikelySurvivors = kAll * 30 / 100;  // Most likely it has ended.

std::int64_t width(std::size_t bin) { return (age_edge(bin + 1) - age_edge(bin)).us; }

// Of its bin, what an age leaves ahead.
std::int64_t part_ahead(std::size_t bin, Duration age) {
  const std::int64_t ahead = std::clamp<std::int64_t>((age_edge(bin + 1) - age).us, 0, width(bin));
  return ahead * kAll / width(bin);
}

std::int64_t part(std::int64_t of, std::int64_t chance) {
  return of / kAll * chance + of % kAll * chance / kAll;
}

}  // namespace

bool goes_by_forecasts(const QueueConfig& queue) {
  return queue.predict || queue.order == QueueOrder::kShortest;
}

void Forecast::rebuild(const Cluster& cluster) {
  *this = Forecast{};
  const std::vector<QueueConfig>& queues = cluster.config().queues;
  learning_ = std::any_of(queues.begin(), queues.end(), goes_by_forecasts);
  if (!learning_) return;
  for (const auto& [key, attempt] : cluster.attempts()) launched(cluster, key);
}

void Forecast::launched(const Cluster& cluster, const AttemptKey& key) {
  const Attempt* attempt = cluster.find_attempt(key);
  const Job* job = cluster.find_job(key.job);
  if (attempt == nullptr || job == nullptr || !attempt->launched) return;
  if (!learning_ || aging_.count(key) != 0) return;
  Aging& aging = aging_[key];
  aging.since = attempt->launched_at;
  aging.bin = age_bin_of(cluster.applied_at() - attempt->launched_at);
  aging.levels = levels_of(job->facts());
  for (std::uint32_t level = 0; level < aging.levels; ++level) {
    aging.rows[level] = running_.try_emplace(likeness_of(level, job->facts())).first;
    ++aging.rows[level]->second.jobs;
    ++aging.rows[level]->second.at[aging.bin];
  }
  if (aging.bin + 1 < kAgeBins) due_.emplace(due(aging), key);
}

void Forecast::ended(const AttemptKey& key) {
  const auto found = aging_.find(key);
  if (found == aging_.end()) return;
  const Aging& aging = found->second;
  for (std::uint32_t level = 0; level < aging.levels; ++level) {
    Running& running = aging.rows[level]->second;
    --running.at[aging.bin];
    if (--running.jobs == 0) running_.erase(aging.rows[level]);
  }
  due_.erase({due(aging), key});
  aging_.erase(found);
}

void Forecast::grow_older(const AttemptKey& key) {
  Aging& aging = aging_.at(key);
  for (std::uint32_t level = 0; level < aging.levels; ++level) {
    --aging.rows[level]->second.at[aging.bin];
    ++aging.rows[level]->second.at[aging.bin + 1];
  }
  ++aging.bin;
  if (aging.bin + 1 < kAgeBins) due_.emplace(due(aging), key);
}

bool Forecast::refresh(Instant now) {
  const std::int64_t in = now.us / kForecastEvery.us;
  if (in == refreshed_in_) return false;
  for (std::size_t count = 0; !due_.empty() && due_.begin()->first <= now; ++count) {
    if (count == kOlderPerPassMax) return false;
    const AttemptKey key = due_.begin()->second;
    due_.erase(due_.begin());
    grow_older(key);
  }
  refreshed_in_ = in;
  chances_.clear();
  return true;
}

const Forecast::Chances& Forecast::chances(const Cluster& cluster, const JobFacts& facts) const {
  const std::uint32_t levels = levels_of(facts);
  const auto [known, is_new] = chances_.try_emplace(likeness_of(levels - 1, facts));
  Chances& bins = known->second;
  if (!is_new) return bins;
  static const AgeBins kNone{};
  bins.fill(kChanceUnknown);
  for (std::uint32_t level = 0; level < levels; ++level) {
    const Likeness likeness = likeness_of(level, facts);
    const RunTimes* past = cluster.run_times().find(likeness);
    const auto running = running_.find(likeness);
    const AgeBins& ended = past == nullptr ? kNone : past->ended;
    const AgeBins& left = past == nullptr ? kNone : past->left;
    const AgeBins& at = running == running_.end() ? kNone : running->second.at;
    std::int64_t beyond = 0;  // Came through the bin.
    for (std::size_t i = kAgeBins; i-- > 0;) {
      // What was stopped there went halfway through, as in an actuary's table.
      const std::int64_t seen = beyond + ended[i] + left[i] / 2 + kLean[level];
      bins[i] = std::min(kChanceMax, (ended[i] * kAll + kLean[level] * bins[i]) / seen);
      beyond += std::int64_t{ended[i]} + left[i] + at[i];
    }
  }
  bins[kAgeBins - 1] = kChanceMax;
  return bins;
}

Duration Forecast::remaining(const Cluster& cluster, const JobFacts& facts, Duration age) const {
  const Chances& bins = chances(cluster, facts);
  const std::size_t first = age_bin_of(age);
  const std::int64_t ahead = part_ahead(first, age);
  const std::int64_t ends = part(bins[first], ahead);
  std::int64_t survivors = kAll - ends;
  std::int64_t mean = part(part(width(first), ahead), kAll - ends / 2);
  for (std::size_t i = first + 1; i < kAgeBins && survivors > kSurvivorsMin; ++i) {
    mean += part(part(width(i), survivors), kAll - bins[i] / 2);
    survivors = part(survivors, kAll - bins[i]);
  }
  return Duration{mean};
}

Duration Forecast::likely_end(const Cluster& cluster, const JobFacts& facts) const {
  const Chances& bins = chances(cluster, facts);
  std::int64_t survivors = kAll;
  for (std::size_t i = 0; i < kAgeBins; ++i) {
    survivors = part(survivors, kAll - bins[i]);
    if (survivors < kLikelySurvivors) return age_edge(i + 1);
  }
  return age_edge(kAgeBins);
}

Duration Forecast::remaining_at(const Cluster& cluster, const JobFacts& facts, Duration age,
                                std::uint32_t permille) const {
  const Chances& bins = chances(cluster, facts);
  const std::int64_t wanted = kAll / 1000 * (1000 - std::min(permille, 999U));  // Still running.
  std::int64_t survivors = kAll;
  Duration begin = age;
  for (std::size_t i = age_bin_of(age); i < kAgeBins; ++i) {
    const Duration end = age_edge(i + 1);
    const Duration ahead = std::max(end - begin, Duration{});
    const std::int64_t chance = part(bins[i], part_ahead(i, begin));
    const std::int64_t ends = part(survivors, chance);
    if (survivors - ends <= wanted && ends > 0) {
      const std::int64_t before = survivors - wanted;
      return begin - age + Duration{part(ahead.us, before * kAll / ends)};
    }
    survivors -= ends;
    begin = std::max(begin, end);
  }
  return begin - age;
}

bool Forecast::knows(const Cluster& cluster) {
  const RunTimes* all = cluster.run_times().find(Likeness{});
  if (all == nullptr) return false;
  return std::accumulate(all->ended.begin(), all->ended.end(), std::uint64_t{0}) >= kEndsKnownMin;
}

}  // namespace muster
