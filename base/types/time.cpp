// Texts of instants and durations, and back.
#include "base/types/time.h"

#include <array>
#include <span>
#include <vector>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::int64_t kDaySeconds = 86400;
constexpr std::int64_t kDurationSecondsMax = 3650 * kDaySeconds;
constexpr std::string_view kDurationForm =
    "a time such as 90s, 30m, 2h, 1d12h, HH:MM:SS or D-HH:MM";

std::string padded(std::int64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

struct Date {
  std::int64_t year;
  std::int64_t month;
  std::int64_t day;
};

// Proleptic Gregorian date of a number of days since 1970-01-01, counted in 400-year eras from
// 0000-03-01.
Date date_of_day(std::int64_t day) {
  constexpr std::int64_t kEraDays = 146097;
  const std::int64_t shifted = day + 719468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - kEraDays + 1) / kEraDays;
  const std::int64_t in_era = shifted - era * kEraDays;
  const std::int64_t year_in_era =
      (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const std::int64_t in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
  const std::int64_t month_from_march = (5 * in_year + 2) / 153;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {era * 400 + year_in_era + (month <= 2 ? 1 : 0), month,
          in_year - (153 * month_from_march + 2) / 5 + 1};
}

Error refused(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kInvalid,
              "\"" + escape_for_terminal(text.substr(0, 64)) + "\" " + std::string(why));
}

Result<Duration> checked(std::string_view text, std::int64_t seconds_total) {
  if (seconds_total == 0) return refused(text, "is zero: expected " + std::string(kDurationForm));
  if (seconds_total > kDurationSecondsMax)
    return refused(text, "is too long: the limit is 3650 days");
  return seconds(seconds_total);
}

// One field of a duration in seconds; every field alone is already bounded by the limit of the
// whole.
Result<std::int64_t> field_seconds(std::string_view text, std::string_view field,
                                   std::int64_t unit) {
  if (field.size() > 1 && field.find_first_not_of("0123456789") == std::string_view::npos) {
    const std::size_t zeros = field.find_first_not_of('0');
    field.remove_prefix(zeros == std::string_view::npos ? field.size() - 1 : zeros);
  }
  const auto number = parse_count(field, 0, static_cast<std::uint64_t>(kDurationSecondsMax));
  if (!number) {
    const bool digits =
        !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
    return refused(text, digits ? std::string("is too long: the limit is 3650 days")
                                : "is not " + std::string(kDurationForm));
  }
  return static_cast<std::int64_t>(*number) * unit;
}

// "D-HH[:MM[:SS]]", "HH:MM:SS", "MM:SS", "MM". Fields need not be below 60: "0:7200" is two hours,
// as in Slurm.
Result<Duration> parse_clock(std::string_view text) {
  std::int64_t total = 0;
  std::string_view rest = text;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto day_seconds = field_seconds(text, text.substr(0, dash), kDaySeconds);
    if (!day_seconds) return day_seconds.error();
    total = *day_seconds;
    rest.remove_prefix(dash + 1);
  }
  std::vector<std::string_view> parts;
  for (std::size_t colon = rest.find(':'); colon != std::string_view::npos;
       colon = rest.find(':')) {
    parts.push_back(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
    if (parts.size() > 3) break;
  }
  parts.push_back(rest);
  if (parts.size() > 3) return refused(text, "is not " + std::string(kDurationForm));
  std::int64_t unit = dash != std::string_view::npos || parts.size() == 3 ? 3600 : 60;
  for (const std::string_view part : parts) {
    const auto part_seconds = field_seconds(text, part, unit);
    if (!part_seconds) return part_seconds.error();
    total += *part_seconds;
    unit = unit == 3600 ? 60 : 1;
  }
  return checked(text, total);
}

// "1d12h30m10s": each unit at most once, largest first.
Result<Duration> parse_units(std::string_view text) {
  constexpr std::string_view kUnits = "dhms";
  constexpr std::array<std::int64_t, 4> kUnitSeconds{kDaySeconds, 3600, 60, 1};
  std::int64_t total = 0;
  std::size_t unit_next = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos)
      return refused(text, "is not " + std::string(kDurationForm));
    const std::size_t unit = kUnits.find(rest[digits]);
    if (unit == std::string_view::npos || unit < unit_next) {
      return refused(text, "is not " + std::string(kDurationForm));
    }
    const auto part_seconds = field_seconds(text, rest.substr(0, digits), kUnitSeconds[unit]);
    if (!part_seconds) return part_seconds.error();
    total += *part_seconds;
    unit_next = unit + 1;
    rest.remove_prefix(digits + 1);
  }
  return checked(text, total);
}

struct Split {
  std::int64_t days;
  std::int64_t hours;
  std::int64_t minutes;
  std::int64_t seconds;
};

Split split(Duration d) {
  const std::int64_t total = d.seconds() < 0 ? 0 : d.seconds();
  return {total / kDaySeconds, total / 3600 % 24, total / 60 % 60, total % 60};
}

}  // namespace

std::string to_rfc3339(WallTime at) {
  std::int64_t total = at.us / 1000000;
  if (at.us % 1000000 < 0) --total;
  std::int64_t day = total / kDaySeconds;
  if (total % kDaySeconds < 0) --day;
  const std::int64_t in_day = total - day * kDaySeconds;
  const Date date = date_of_day(day);
  return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T" +
         padded(in_day / 3600, 2) + ":" + padded(in_day / 60 % 60, 2) + ":" +
         padded(in_day % 60, 2) + "Z";
}

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty())
    return fail(ErrorCode::kInvalid, "empty: expected " + std::string(kDurationForm));
  if (text[0] == '-') return refused(text, "is negative: expected " + std::string(kDurationForm));
  const bool is_clock = text.find_first_not_of("0123456789:-") == std::string_view::npos;
  return is_clock ? parse_clock(text) : parse_units(text);
}

std::string to_text(Duration d) {
  const Split parts = split(d);
  const std::array<std::int64_t, 4> numbers{parts.days, parts.hours, parts.minutes, parts.seconds};
  constexpr std::string_view kUnits = "dhms";
  std::size_t first = 0;
  while (first < 3 && numbers[first] == 0) ++first;
  std::string text = std::to_string(numbers[first]) + kUnits[first];
  if (first < 3 && numbers[first + 1] != 0)
    text += std::to_string(numbers[first + 1]) + kUnits[first + 1];
  return text;
}

std::string to_clock(Duration d) {
  const Split parts = split(d);
  const std::string tail = padded(parts.minutes, 2) + ":" + padded(parts.seconds, 2);
  if (parts.days != 0)
    return std::to_string(parts.days) + "-" + padded(parts.hours, 2) + ":" + tail;
  if (parts.hours != 0) return std::to_string(parts.hours) + ":" + tail;
  return std::to_string(parts.minutes) + ":" + padded(parts.seconds, 2);
}

}  // namespace muster
