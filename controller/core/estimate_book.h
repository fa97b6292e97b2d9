// What was said of when jobs start, and how that came out: the first estimate of each job that
// waits, and for the last 30 days how far those of started jobs were off. Journalled (the
// estimates by StartsEstimated, how they came out follows from AttemptStarted), so it outlives
// restarts. Integers only: it is digested.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/run_times.h"

namespace muster {

constexpr std::int64_t kEstimateDays = 30;  // Kept, with today.
constexpr std::size_t kEstimateRowsMax = 30000;
// A start so much later than said is as said: stopping, cleaning and preparing take a moment.
constexpr Duration kEstimateSlack = minutes(1);

struct StartPromise {
  Instant half;  // One of two start by then,
  Instant most;  // nine of ten by then.
};

struct EstimateKey {
  std::int64_t day = 0;  // Since 1970.
  std::string queue;
  auto operator<=>(const EstimateKey&) const = default;
};

// Of the jobs that started on one day in one queue.
struct EstimateTally {
  std::uint32_t half_held = 0;
  std::uint32_t most_held = 0;
  AgeBins early{};  // Started so much earlier than half of them should,
  AgeBins late{};   // or later. By bins of the distance.
};

struct EstimateSum {
  std::uint64_t count = 0;
  std::uint64_t half_held = 0;
  std::uint64_t most_held = 0;
  std::array<std::uint64_t, kAgeBins> early{};
  std::array<std::uint64_t, kAgeBins> late{};
  void add(const EstimateTally& tally);
  // Half of all were off by no more. The upper end of a bin.
  Duration error_median() const;
  std::uint64_t late_count() const;
};

class EstimateBook {
 public:
  // The first one counts.
  void promise(JobId job, const StartPromise& said);
  // The job started; nothing when nothing was said of it.
  void started(JobId job, const EstimateKey& when, Instant at);
  // It ended, is held, or asks for something else: what was said is void.
  void withdraw(JobId job);
  // For snapshots. False: it is there, or the book is full.
  bool put(JobId job, const StartPromise& said);
  bool put(const EstimateKey& key, const EstimateTally& tally);

  const StartPromise* find(JobId job) const;
  const std::map<JobId, StartPromise>& promises() const { return promises_; }
  const std::map<EstimateKey, EstimateTally>& tallies() const { return tallies_; }
  // All queues, or one.
  EstimateSum sum(const std::string& queue = {}) const;
  std::uint64_t digest() const { return digest_; }

 private:
  std::map<JobId, StartPromise> promises_;
  std::map<EstimateKey, EstimateTally> tallies_;
  std::uint64_t digest_ = 0;  // Sum over all rows.
};

}  // namespace muster
