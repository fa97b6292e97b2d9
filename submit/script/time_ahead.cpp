// Reading times to come.
#include "submit/script/time_ahead.h"

#include <array>
#include <ctime>
#include <optional>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::int64_t kMicros = 1000000;
constexpr std::uint64_t kCountMax = 315360000;  // Ten years of seconds.

Error bad_time(std::string_view text) {
  return fail(ErrorCode::kInvalid,
              "\"" + escape_for_terminal(text.substr(0, 64)) +
                  "\" is not a time such as now+2h, 16:00, tomorrow or 2026-12-24T18:00");
}

std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t size, int most) {
  if (text.size() < at + size) return std::nullopt;
  const Result<std::uint64_t> value =
      parse_count(text.substr(at, size), 0, static_cast<std::uint64_t>(most));
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

struct Clock {
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// "HH:MM" or "HH:MM:SS".
std::optional<Clock> read_clock(std::string_view text) {
  if ((text.size() != 5 && text.size() != 8) || text[2] != ':') return std::nullopt;
  if (text.size() == 8 && text[5] != ':') return std::nullopt;
  const auto hour = digits_at(text, 0, 2, 23);
  const auto minute = digits_at(text, 3, 2, 59);
  const auto second = text.size() == 8 ? digits_at(text, 6, 2, 59) : std::optional<int>(0);
  if (!hour || !minute || !second) return std::nullopt;
  return Clock{*hour, *minute, *second};
}

WallTime of_day(WallTime now, int days_ahead, Clock clock) {
  const auto since = static_cast<std::time_t>(now.us / kMicros);
  std::tm parts{};
  localtime_r(&since, &parts);
  parts.tm_mday += days_ahead;
  parts.tm_hour = clock.hour;
  parts.tm_min = clock.minute;
  parts.tm_sec = clock.second;
  parts.tm_isdst = -1;
  return {static_cast<std::int64_t>(std::mktime(&parts)) * kMicros};
}

WallTime next(WallTime now, Clock clock) {
  const WallTime today = of_day(now, 0, clock);
  return today > now ? today : of_day(now, 1, clock);
}

std::optional<WallTime> read_date(std::string_view text) {
  const bool utc = text.ends_with('Z');
  if (utc) text.remove_suffix(1);
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits_at(text, 0, 4, 9999);
  const auto month = digits_at(text, 5, 2, 12);
  const auto day = digits_at(text, 8, 2, 31);
  std::optional<Clock> clock = Clock{};
  if (text.size() != 10) {
    if (text[10] != 'T' && text[10] != ' ') return std::nullopt;
    clock = read_clock(text.substr(11));
  }
  if (!year || *year < 1970 || !month || *month < 1 || !day || *day < 1 || !clock)
    return std::nullopt;
  std::tm parts{};
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  parts.tm_hour = clock->hour;
  parts.tm_min = clock->minute;
  parts.tm_sec = clock->second;
  parts.tm_isdst = -1;
  const std::time_t at = utc ? timegm(&parts) : std::mktime(&parts);
  if (at < 0 || parts.tm_mday != *day) return std::nullopt;  // 30 February.
  return WallTime{static_cast<std::int64_t>(at) * kMicros};
}

// What follows "now+": a bare number is seconds, as in Slurm.
std::optional<Duration> read_offset(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t seconds;
  };
  constexpr std::array kUnits{Unit{"second", 1}, Unit{"minute", 60}, Unit{"hour", 3600},
                              Unit{"day", 86400}, Unit{"week", 604800}};
  const std::size_t end = text.find_first_not_of("0123456789");
  const Result<std::uint64_t> count = parse_count(text.substr(0, end), 0, kCountMax);
  if (!count) return std::nullopt;
  std::string_view unit = end == std::string_view::npos ? "second" : text.substr(end);
  if (unit.size() > 1 && unit.back() == 's') unit.remove_suffix(1);
  for (const Unit& known : kUnits) {
    if (known.name == unit) {
      const Duration offset = seconds(static_cast<std::int64_t>(*count) * known.seconds);
      return offset > days(3650) ? std::nullopt : std::optional<Duration>(offset);
    }
  }
  const Result<Duration> other = parse_duration(text);
  return other ? std::optional<Duration>(*other) : std::nullopt;
}

}  // namespace

Result<WallTime> parse_time_ahead(std::string_view text, WallTime now) {
  if (text == "now") return now;
  if (text == "today") return of_day(now, 0, {});
  if (text == "tomorrow") return of_day(now, 1, {});
  if (text == "midnight") return next(now, {});
  if (text == "noon") return next(now, {12, 0, 0});
  if (text.starts_with("now+")) {
    const std::optional<Duration> offset = read_offset(text.substr(4));
    if (!offset) return bad_time(text);
    return WallTime{now.us + offset->us};
  }
  if (const std::optional<Clock> clock = read_clock(text)) return next(now, *clock);
  if (const std::optional<WallTime> date = read_date(text)) return *date;
  return bad_time(text);
}

}  // namespace muster
