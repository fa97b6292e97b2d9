// Comparing what was said with what happened.
#include "controller/core/estimate_book.h"

#include <numeric>

#include "base/types/digest.h"

namespace muster {
namespace {

std::uint64_t digest_of_promise(JobId job, const StartPromise& said) {
  return combine64(combine64(mix64(job.value), static_cast<std::uint64_t>(said.half.us)),
                   static_cast<std::uint64_t>(said.most.us));
}

std::uint64_t digest_of_tally(const EstimateKey& key, const EstimateTally& tally) {
  std::uint64_t hash = combine64(hash64(key.queue), static_cast<std::uint64_t>(key.day));
  hash = combine64(hash, (std::uint64_t{tally.half_held} << 32U) | tally.most_held);
  for (std::size_t i = 0; i < kAgeBins; ++i) {
    if (tally.early[i] == 0 && tally.late[i] == 0) continue;
    hash = combine64(combine64(hash, i), (std::uint64_t{tally.early[i]} << 32U) | tally.late[i]);
  }
  return hash;
}

}  // namespace

void EstimateSum::add(const EstimateTally& tally) {
  half_held += tally.half_held;
  most_held += tally.most_held;
  for (std::size_t i = 0; i < kAgeBins; ++i) {
    early[i] += tally.early[i];
    late[i] += tally.late[i];
    count += std::uint64_t{tally.early[i]} + tally.late[i];
  }
}

Duration EstimateSum::error_median() const {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kAgeBins; ++i) {
    seen += early[i] + late[i];
    if (seen * 2 >= count && seen != 0) return age_edge(i + 1);
  }
  return {};
}

std::uint64_t EstimateSum::late_count() const {
  return std::accumulate(late.begin(), late.end(), std::uint64_t{0});
}

void EstimateBook::promise(JobId job, const StartPromise& said) { put(job, said); }

void EstimateBook::withdraw(JobId job) {
  const auto found = promises_.find(job);
  if (found == promises_.end()) return;
  digest_ -= digest_of_promise(job, found->second);
  promises_.erase(found);
}

void EstimateBook::started(JobId job, const EstimateKey& when, Instant at) {
  const auto found = promises_.find(job);
  if (found == promises_.end()) return;
  const StartPromise said = found->second;
  withdraw(job);
  while (!tallies_.empty() && (tallies_.begin()->first.day <= when.day - kEstimateDays ||
                               tallies_.size() > kEstimateRowsMax)) {
    digest_ -= digest_of_tally(tallies_.begin()->first, tallies_.begin()->second);
    tallies_.erase(tallies_.begin());
  }
  const auto [row, is_new] = tallies_.try_emplace(when);
  EstimateTally& tally = row->second;
  if (!is_new) digest_ -= digest_of_tally(when, tally);
  const Duration off = at - said.half;
  ++(off > Duration{} ? tally.late
                      : tally.early)[age_bin_of(Duration{off.us < 0 ? -off.us : off.us})];
  if (at <= said.half + kEstimateSlack) ++tally.half_held;
  if (at <= said.most + kEstimateSlack) ++tally.most_held;
  digest_ += digest_of_tally(when, tally);
}

bool EstimateBook::put(JobId job, const StartPromise& said) {
  if (!promises_.emplace(job, said).second) return false;
  digest_ += digest_of_promise(job, said);
  return true;
}

bool EstimateBook::put(const EstimateKey& key, const EstimateTally& tally) {
  if (tallies_.size() > kEstimateRowsMax || !tallies_.emplace(key, tally).second) return false;
  digest_ += digest_of_tally(key, tally);
  return true;
}

const StartPromise* EstimateBook::find(JobId job) const {
  const auto found = promises_.find(job);
  return found == promises_.end() ? nullptr : &found->second;
}

EstimateSum EstimateBook::sum(const std::string& queue) const {
  EstimateSum all;
  for (const auto& [key, tally] : tallies_) {
    if (queue.empty() || key.queue == queue) all.add(tally);
  }
  return all;
}

}  // namespace muster
