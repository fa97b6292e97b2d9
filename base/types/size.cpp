// Counts and memory sizes as people type them.
#include "base/types/size.h"

#include <array>
#include <limits>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string shown = "\"" + escape_for_terminal(text.substr(0, kShown)) + "\"";
  if (text.size() > kShown) shown += "…";
  return shown;
}

Error unexpected(std::string_view text, std::size_t at, std::string_view wanted) {
  if (text.empty()) return fail(ErrorCode::kInvalid, "empty: expected " + std::string(wanted));
  if (text[0] == '-')
    return fail(ErrorCode::kInvalid,
                quoted(text) + " is negative: expected " + std::string(wanted));
  std::string message = quoted(text) + " is not " + std::string(wanted);
  if (at < text.size()) {
    message += " (unexpected " + quoted(text.substr(at, 1)) + " at character " +
               std::to_string(at + 1) + ")";
  }
  return fail(ErrorCode::kInvalid, message);
}

// Digits from `at` on; false when the number does not fit. Moves `at` past them.
bool read_digits(std::string_view text, std::size_t& at, std::uint64_t& number) {
  number = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    if (number > (kNumberMax - digit) / 10) return false;
    number = number * 10 + digit;
  }
  return true;
}

// Power of 1024 above KiB that a suffix names: K 0, M 1, …; false when it names none.
bool read_unit(std::string_view suffix, unsigned& power) {
  constexpr std::string_view kUnits = "KMGTP";
  power = 1;
  if (suffix.empty()) return true;
  const std::size_t unit = kUnits.find(upper(suffix[0]));
  if (unit == std::string_view::npos) return false;
  power = static_cast<unsigned>(unit);
  suffix.remove_prefix(1);
  if (suffix.empty()) return true;
  if (suffix.size() == 2 && upper(suffix[0]) == 'I') suffix.remove_prefix(1);
  return suffix.size() == 1 && upper(suffix[0]) == 'B';
}

constexpr std::string_view kMemoryForm = "a memory size such as 512M, 16G or 1.5T";

Error memory_too_large(std::string_view text) {
  return fail(ErrorCode::kInvalid, quoted(text) + " is too large: the limit is 1048576T");
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t min, std::uint64_t max) {
  std::size_t at = 0;
  std::uint64_t number = 0;
  const bool fits = read_digits(text, at, number);
  if (fits && (text.empty() || at != text.size())) return unexpected(text, at, "a whole number");
  if (!fits || number > max) {
    return fail(ErrorCode::kInvalid,
                quoted(text) + " is too large: the limit is " + std::to_string(max));
  }
  if (number < min) {
    return fail(ErrorCode::kInvalid,
                quoted(text) + " is too small: the least is " + std::to_string(min));
  }
  return number;
}

Result<std::uint64_t> parse_memory_mib(std::string_view text) {
  std::size_t at = 0;
  std::uint64_t whole = 0;
  if (!read_digits(text, at, whole)) return memory_too_large(text);
  if (at == 0) return unexpected(text, at, kMemoryForm);
  std::uint64_t milli = 0;
  if (at < text.size() && text[at] == '.') {
    const std::size_t point = at++;
    for (std::uint64_t weight = 100; at < text.size() && is_digit(text[at]); ++at, weight /= 10) {
      if (weight == 0)
        return unexpected(text, at, std::string(kMemoryForm) + " with at most three decimals");
      milli += static_cast<std::uint64_t>(text[at] - '0') * weight;
    }
    if (at == point + 1) return unexpected(text, at, kMemoryForm);
  }
  unsigned power = 0;
  if (!read_unit(text.substr(at), power)) return unexpected(text, at, kMemoryForm);
  if (whole > kMemoryMibMax * 1024) return memory_too_large(text);  // Already in the smallest unit.
  // In KiB·1000, so that decimals stay exact: at most 2^50 · 1000 before the unit is applied.
  std::uint64_t milli_kib = whole * 1000 + milli;
  for (; power > 0; --power) {
    if (milli_kib > kNumberMax / 1024) return memory_too_large(text);
    milli_kib *= 1024;
  }
  const std::uint64_t mib = milli_kib / 1024000 + (milli_kib % 1024000 == 0 ? 0 : 1);
  if (mib == 0)
    return fail(ErrorCode::kInvalid,
                quoted(text) + " is zero: expected " + std::string(kMemoryForm));
  if (mib > kMemoryMibMax) return memory_too_large(text);
  return mib;
}

std::string memory_to_text(std::uint64_t mib) {
  constexpr std::array<char, 4> kUnits{'M', 'G', 'T', 'P'};
  std::uint64_t unit = 1;
  std::size_t index = 0;
  while (index + 1 < kUnits.size() && mib >= unit * 1024) {
    const std::uint64_t next = unit * 1024;
    if (mib % next != 0 && (mib * 10) % next != 0 && mib < next * 10)
      break;  // Would hide too much.
    unit = next;
    ++index;
  }
  const std::uint64_t tenths = mib % unit * 10 / unit;
  std::string text = std::to_string(mib / unit);
  if (tenths != 0) text += "." + std::to_string(tenths);
  return text + kUnits[index];
}

}  // namespace muster
