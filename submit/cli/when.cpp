// The wall clock and the local zone.
#include "submit/cli/when.h"

#include <ctime>
#include <optional>

#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/script/time_ahead.h"

namespace muster {

namespace {

constexpr std::int64_t kMicros = 1000000;

std::string formatted(WallTime at, const char* format) {
  if (at.us == 0) return "-";
  const auto seconds_since = static_cast<std::time_t>(at.us / kMicros);
  std::tm parts{};
  if (localtime_r(&seconds_since, &parts) == nullptr) return "-";
  char text[64];
  return {text, std::strftime(text, sizeof(text), format, &parts)};
}

Error bad_time(std::string_view text) {
  return fail(ErrorCode::kInvalid,
              "\"" + escape_for_terminal(text.substr(0, 64)) +
                  "\" is not a time such as 2026-11-30, 2026-11-30T18:07, today, yesterday, or "
                  "7d (ago)");
}

WallTime midnight(WallTime now, int days_back) {
  const auto seconds_since = static_cast<std::time_t>(now.us / kMicros);
  std::tm parts{};
  localtime_r(&seconds_since, &parts);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday -= days_back;
  parts.tm_isdst = -1;
  return {static_cast<std::int64_t>(std::mktime(&parts)) * kMicros};
}

struct Field {
  std::size_t at;
  std::size_t digits;
  int low;
  int high;
};

bool read_field(std::string_view text, const Field& field, int& out) {
  if (text.size() < field.at + field.digits) return false;
  auto value =
      parse_count(text.substr(field.at, field.digits), static_cast<std::uint64_t>(field.low),
                  static_cast<std::uint64_t>(field.high));
  if (!value) return false;
  out = static_cast<int>(*value);
  return true;
}

// "YYYY-MM-DD[(T| )HH:MM[:SS]]".
bool read_date(std::string_view text, std::tm& parts) {
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return false;
  if (text[4] != '-' || text[7] != '-') return false;
  if (!read_field(text, {0, 4, 1970, 9999}, parts.tm_year) ||
      !read_field(text, {5, 2, 1, 12}, parts.tm_mon) ||
      !read_field(text, {8, 2, 1, 31}, parts.tm_mday)) {
    return false;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  parts.tm_isdst = -1;
  if (text.size() == 10) return true;
  if ((text[10] != 'T' && text[10] != ' ') || text[13] != ':') return false;
  if (!read_field(text, {11, 2, 0, 23}, parts.tm_hour) ||
      !read_field(text, {14, 2, 0, 59}, parts.tm_min)) {
    return false;
  }
  return text.size() == 16 || (text[16] == ':' && read_field(text, {17, 2, 0, 59}, parts.tm_sec));
}

}  // namespace

WallTime wall_now() {
  std::timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {static_cast<std::int64_t>(now.tv_sec) * kMicros + now.tv_nsec / 1000};
}

std::string local_time(WallTime at) { return formatted(at, "%Y-%m-%d %H:%M"); }
std::string local_time_with_seconds(WallTime at) { return formatted(at, "%Y-%m-%d %H:%M:%S"); }

namespace {

// Null: not a date.
std::optional<Result<WallTime>> read_when(std::string_view text) {
  std::tm parts{};
  const bool is_utc = text.ends_with('Z');
  if (!read_date(is_utc ? text.substr(0, text.size() - 1) : text, parts)) return std::nullopt;
  const std::tm wanted = parts;
  const std::time_t at = is_utc ? timegm(&parts) : std::mktime(&parts);
  if (at < 0 || parts.tm_mday != wanted.tm_mday) return bad_time(text);  // 30 February.
  return WallTime{static_cast<std::int64_t>(at) * kMicros};
}

Result<Duration> read_distance(std::string_view text) {
  const bool has_unit =
      !text.empty() && std::string_view("smhd").find(text.back()) != std::string_view::npos;
  auto distance = parse_duration(text);
  if (!has_unit || !distance) return bad_time(text);
  return distance;
}

}  // namespace

Result<WallTime> parse_when(std::string_view text, WallTime now) {
  if (text == "now") return now;
  if (text == "today") return midnight(now, 0);
  if (text == "yesterday") return midnight(now, 1);
  if (auto date = read_when(text)) return *date;
  auto ago = read_distance(text);
  if (!ago) return ago.error();
  return WallTime{now.us - ago->us};
}

Result<WallTime> parse_when_ahead(std::string_view text, WallTime now) {
  if (const auto ahead = read_distance(text)) return WallTime{now.us + ahead->us};
  if (auto date = read_when(text)) return *date;
  return parse_time_ahead(text, now);
}

}  // namespace muster
