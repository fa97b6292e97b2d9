// How much longer a job runs: for each age, the chance to end there, from the
// run times of jobs that ended (RunTimes) and from those that run on at that
// age, which count as not having ended yet. A likeness that has shown little
// leans on the wider one, as in the empirical Bayes shrinkage of life tables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/run_times.h"

namespace muster {

constexpr Duration kForecastEvery = minutes(2);  // How old what follows from the counts may be.
constexpr std::uint64_t kEndsKnownMin = 20;      // Fewer tell nothing.
constexpr std::size_t kOlderPerPassMax = 2000;   // Attempts that come into the next bin.

bool goes_by_forecasts(const QueueConfig& queue);

class Forecast {
 public:
  Forecast() = default;
  Forecast(Forecast&&) noexcept = default;
  Forecast& operator=(Forecast&&) noexcept = default;

  void rebuild(const Cluster& cluster);
  void launched(const Cluster& cluster, const AttemptKey& key);
  void ended(const AttemptKey& key);
  // What runs has become older, some in each call. True when that, and what
  // ended lately, counts from now on.
  bool refresh(Instant now);

  // How much longer a job of that age runs, in the mean.
  Duration remaining(const Cluster& cluster, const JobFacts& facts, Duration age) const;
  // It has ended within that with seven chances out of ten.
  Duration likely_end(const Cluster& cluster, const JobFacts& facts) const;
  // How much longer a job of that age runs, when `permille` of those like it end sooner.
  Duration remaining_at(const Cluster& cluster, const JobFacts& facts, Duration age,
                        std::uint32_t permille) const;
  // Whether enough has ended by itself to tell anything at all.
  static bool knows(const Cluster& cluster);

 private:
  using Chances = std::array<std::int64_t, kAgeBins>;
  struct Running {
    AgeBins at{};  // Jobs by the bin that their age is in.
    std::uint32_t jobs = 0;
  };
  using Row = std::map<Likeness, Running>::iterator;
  struct Aging {
    std::array<Row, kLikenessLevels> rows{};
    std::uint32_t levels = 0;
    std::size_t bin = 0;
    Instant since;
  };
  void add(const JobFacts& facts, const Attempt& attempt, Instant now);
  Instant due(const Aging& aging) const { return aging.since + age_edge(aging.bin + 1); }
  void grow_older(const AttemptKey& key);
  const Chances& chances(const Cluster& cluster, const JobFacts& facts) const;

  bool learning_ = false;  // Some queue goes by forecasts; else what runs is not followed.
  std::map<Likeness, Running> running_;
  std::map<AttemptKey, Aging> aging_;
  std::set<std::pair<Instant, AttemptKey>> due_;  // When each comes into the next bin.
  std::int64_t refreshed_in_ = -1;                // Which kForecastEvery of engine time.
  mutable std::map<Likeness, Chances> chances_;   // As of the last refresh(), when asked for.
};

}  // namespace muster
