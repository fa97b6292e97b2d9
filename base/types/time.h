// Two clocks that must not be mixed. Instant is engine time: monotone, for limits, leases and
// money. WallTime is UTC, only ever a label. Both in microseconds.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

struct Duration {
  std::int64_t us = 0;
  auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const { return {us + other.us}; }
  constexpr Duration operator-(Duration other) const { return {us - other.us}; }
  constexpr Duration operator*(std::int64_t factor) const { return {us * factor}; }
  constexpr std::int64_t ms() const { return us / 1000; }
  constexpr std::int64_t seconds() const { return us / 1000000; }
};

constexpr Duration microseconds(std::int64_t n) { return {n}; }
constexpr Duration milliseconds(std::int64_t n) { return {n * 1000}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1000000}; }
constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
constexpr Duration hours(std::int64_t n) { return seconds(n * 3600); }
constexpr Duration days(std::int64_t n) { return hours(n * 24); }

struct Instant {
  std::int64_t us = 0;
  auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const { return {us + d.us}; }
  constexpr Instant operator-(Duration d) const { return {us - d.us}; }
  constexpr Duration operator-(Instant other) const { return {us - other.us}; }
};

struct WallTime {
  std::int64_t us = 0;  // Since 1970-01-01T00:00:00Z.
  auto operator<=>(const WallTime&) const = default;
};

std::string to_rfc3339(WallTime at);  // "2026-11-30T17:07:57Z"; no fraction.

// "90", "90s", "30m", "2h", "1d", "1d12h30m", "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS".
// A bare number is minutes, as in Slurm. Zero, negative and more than 3650 days are refused.
Result<Duration> parse_duration(std::string_view text);
std::string to_text(Duration d);   // "1d12h", "2h", "30m", "45s", "0s": the largest two units.
std::string to_clock(Duration d);  // "0:07", "12:30", "2:00:00", "1-12:30:00": for tables.

}  // namespace muster
