// Hostile text made safe to show; suggestions for mistyped words; rules for names.
#include "base/types/text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/types/job_spec.h"

namespace muster {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// One code point, or one byte that does not belong to any.
struct Rune {
  std::uint32_t code = 0;
  std::size_t size = 1;
  bool valid = false;
};

Rune rune_of(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {lead, 1, false};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return {lead, 1, false};
    code = code << 6U | (byte(at) & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool outside = code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
  return overlong || outside ? Rune{lead, 1, false} : Rune{code, size, true};
}

bool is_printable(const Rune& rune) {
  if (!rune.valid) return false;
  const auto within = [&](std::uint32_t low, std::uint32_t high) {
    return rune.code >= low && rune.code <= high;
  };
  if (rune.code < 0x20 || within(0x7f, 0x9f)) return false;   // C0, DEL, C1.
  if (rune.code == 0xad || rune.code == 0x61c) return false;  // Soft hyphen, Arabic letter mark.
  if (within(0x200b, 0x200f) || within(0x2028, 0x202e))
    return false;                            // Zero width, marks, separators, overrides.
  if (within(0x2060, 0x206f)) return false;  // Joiners and isolates.
  if (rune.code == 0xfeff || within(0xfff9, 0xfffb)) return false;  // Byte order mark, annotations.
  return !within(0xe0000, 0xe0fff);                                 // Tags.
}

void append_hex(std::uint32_t number, std::size_t digits_min, std::string& out) {
  std::string digits;
  for (; number != 0 || digits.size() < digits_min; number >>= 4U)
    digits += kHexDigits[number & 15U];
  out.append(digits.rbegin(), digits.rend());
}

void append_escaped(const Rune& rune, std::string& out) {
  if (rune.code == '\n') {
    out += "\\n";
  } else if (rune.code == '\t') {
    out += "\\t";
  } else if (rune.code == '\r') {
    out += "\\r";
  } else if (!rune.valid || rune.code < 0x80) {
    out += "\\x";
    append_hex(rune.code, 2, out);
  } else {
    out += "\\u{";
    append_hex(rune.code, 1, out);
    out += "}";
  }
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment over three rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

bool is_name_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Rune rune = rune_of(text);
    if (is_printable(rune)) {
      out += text.substr(0, rune.size);
    } else {
      append_escaped(rune, out);
    }
    text.remove_prefix(rune.size);
  }
  return out;
}

bool has_unprintable(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = rune_of(text);
    if (!is_printable(rune)) return true;
    text.remove_prefix(rune.size);
  }
  return false;
}

std::string_view nearest_match(std::string_view word,
                               std::span<const std::string_view> candidates) {
  constexpr std::size_t kWordMax = 64;
  if (word.empty() || word.size() > kWordMax) return {};
  const std::size_t distance_max = std::max<std::size_t>(1, word.size() / 3);
  std::size_t nearest = distance_max + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > word.size() + distance_max) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= nearest || distance >= candidate.size()) continue;
    nearest = distance;
    found = candidate;
  }
  return found;
}

Result<void> check_name(std::string_view name) {
  if (name.empty()) return fail(ErrorCode::kInvalid, "the name is empty");
  if (name.size() > kNameBytesMax) {
    return fail(ErrorCode::kInvalid, "the name has " + std::to_string(name.size()) +
                                         " characters; the limit is " +
                                         std::to_string(kNameBytesMax));
  }
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool first_bad = at == 0 && (name[0] == '-' || name[0] == '.');
    if (is_name_char(name[at]) && !first_bad) continue;
    return fail(ErrorCode::kInvalid, "the name \"" + escape_for_terminal(name) +
                                         "\" has a character that is not allowed at " +
                                         std::to_string(at + 1) +
                                         ": use letters, digits, '.', '_' and '-'");
  }
  return {};
}

Result<void> check_job_name(std::string_view name) {
  if (name.size() > kJobNameBytesMax) {
    return fail(ErrorCode::kInvalid, "the job name has " + std::to_string(name.size()) +
                                         " bytes; the limit is " +
                                         std::to_string(kJobNameBytesMax));
  }
  if (has_unprintable(name)) {
    return fail(ErrorCode::kInvalid, "the job name \"" + escape_for_terminal(name) +
                                         "\" has characters that cannot be printed");
  }
  return {};
}

}  // namespace muster
