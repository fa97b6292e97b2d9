// What an account's user has used, undecayed, in buckets of time: hours lately, days before.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

struct UsageKey {
  std::string account;
  Uid uid;
  auto operator<=>(const UsageKey&) const = default;
};

constexpr Duration kUsageKept = days(60);
constexpr Duration kUsageByHour = days(2);  // Older buckets are joined into days.

// Weighted milli-GPU × milliseconds. Integers only: it is digested.
class Usage {
 public:
  // So many weighted milli-GPUs from `from` to `to`, the newest time that the book has seen.
  void charge(Instant from, Instant to, std::uint64_t milli);
  // For snapshots, in rising order.
  void put(std::int64_t hour, std::uint64_t amount) { buckets_[hour] += amount; }
  // Amounts by the hour of engine time in which the bucket begins.
  const std::map<std::int64_t, std::uint64_t>& buckets() const { return buckets_; }
  // Half of what is one half-life old, a quarter of what is two, and so on.
  std::uint64_t decayed(Instant now, Duration half_life) const;

 private:
  void join_old(std::int64_t now_hour);
  std::map<std::int64_t, std::uint64_t> buckets_;
};

// amount × 2^(-age / half_life), by a table of 64 steps a half-life.
std::uint64_t decay(std::uint64_t amount, Duration age, Duration half_life);

}  // namespace muster
