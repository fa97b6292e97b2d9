// Buckets of usage and their decay.
#include "controller/core/usage.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::int64_t kHourMs = 3600 * 1000;
constexpr std::int64_t kHoursPerDay = 24;
constexpr unsigned kSteps = 64;  // Of the decay table, a half-life.

// 2^(-i/64) in 32 bits after the point, by repeated multiplication with 2^(-1/64).
constexpr std::array<std::uint64_t, kSteps> decay_table() {
  std::array<std::uint64_t, kSteps> table{};
  std::uint64_t value = std::uint64_t{1} << 32U;
  for (std::uint64_t& entry : table) {
    entry = value;
    value = (value * 4248701965U) >> 32U;
  }
  return table;
}
constexpr std::array<std::uint64_t, kSteps> kDecay = decay_table();

std::int64_t ms_of(Instant at) { return at.us / 1000; }

}  // namespace

std::uint64_t decay(std::uint64_t amount, Duration age, Duration half_life) {
  if (half_life.us <= 0 || age.us <= 0) return amount;
  const std::int64_t halves = age.us / half_life.us;
  if (halves >= 64) return 0;
  const Duration rest{age.us % half_life.us};
  const auto step = static_cast<std::size_t>(rest.us / (half_life.us / kSteps + 1));
  const std::uint64_t shifted = amount >> static_cast<unsigned>(halves);
  const std::uint64_t factor = kDecay[std::min<std::size_t>(step, kSteps - 1)];
  // In two halves: the product would not fit.
  return ((shifted >> 32U) * factor) + (((shifted & 0xffffffffU) * factor) >> 32U);
}

void Usage::charge(Instant from, Instant to, std::uint64_t milli) {
  if (milli == 0 || to <= from) return;
  const std::int64_t end = ms_of(to);
  std::int64_t at = std::max(ms_of(from), end - kUsageKept.ms());
  while (at < end) {
    const std::int64_t hour = at / kHourMs;
    const std::int64_t until = std::min(end, (hour + 1) * kHourMs);
    buckets_[hour] += milli * static_cast<std::uint64_t>(until - at);
    at = until;
  }
  join_old(end / kHourMs);
}

void Usage::join_old(std::int64_t now_hour) {
  const std::int64_t by_hour = now_hour - kUsageByHour.seconds() / 3600;
  const std::int64_t kept = now_hour - kUsageKept.seconds() / 3600;
  for (auto it = buckets_.begin(); it != buckets_.end() && it->first < by_hour;) {
    const std::int64_t day = it->first / kHoursPerDay * kHoursPerDay;
    if (it->first < kept) {
      it = buckets_.erase(it);
    } else if (it->first == day) {
      ++it;
    } else {
      buckets_[day] += it->second;
      it = buckets_.erase(it);
    }
  }
}

std::uint64_t Usage::decayed(Instant now, Duration half_life) const {
  std::uint64_t sum = 0;
  for (const auto& [hour, amount] : buckets_) {
    const Instant middle{(hour * kHourMs + kHourMs / 2) * 1000};
    sum += decay(amount, now - middle, half_life);
  }
  return sum;
}

}  // namespace muster
