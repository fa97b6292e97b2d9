// What PostgreSQL's text type cannot hold must not stop the feed: such bytes become visible
// escapes.
#include <cstdint>

#include "controller/sql/database.h"

namespace muster {
namespace {

bool is_continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
}

// Length of the well-formed UTF-8 character at `at`, 0 when there is none. Overlong forms,
// surrogates and what lies beyond U+10FFFF are not well formed.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80U) return first == 0 ? 0 : 1;
  const std::size_t length = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : 2;
  if (first < 0xc2U || first > 0xf4U) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text, at + i)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if (first == 0xe0U && second < 0xa0U) return 0;
  if (first == 0xedU && second >= 0xa0U) return 0;
  if (first == 0xf0U && second < 0x90U) return 0;
  if (first == 0xf4U && second >= 0x90U) return 0;
  return length;
}

}  // namespace

std::string storable_text(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    if (length != 0) {
      out.append(text, at, length);
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    out.append("\\x");
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
    ++at;
  }
  return out;
}

std::string sql_array(std::span<const std::string> values) {
  std::string out = "{";
  for (const std::string& value : values) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('"');
    for (const char c : storable_text(value)) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    out.push_back('"');
  }
  out.push_back('}');
  return out;
}

}  // namespace muster
