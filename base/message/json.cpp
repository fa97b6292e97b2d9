// JSON text: numbers, times, and strings that are safe to show.
#include "base/message/json.h"

#include <array>
#include <charconv>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kReplacement = "\\ufffd";

void append_unit(std::uint32_t unit, std::string& out) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[unit >> shift & 15U];
}

// A code point that should not be shown as it is.
void append_code_point(std::uint32_t code, std::string& out) {
  switch (code) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (code < 0x10000) {
    append_unit(code, out);
    return;
  }
  append_unit(0xd800 + ((code - 0x10000) >> 10U), out);
  append_unit(0xdc00 + ((code - 0x10000) & 0x3ffU), out);
}

// Length of the UTF-8 sequence that the byte begins; 0: it begins none.
std::size_t sequence_size(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// The code point of a sequence whose lead and length fit; 0xffffffff when it is none.
std::uint32_t code_point(std::string_view sequence) {
  constexpr std::uint32_t kNone = 0xffffffff;
  constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  std::uint32_t code = static_cast<unsigned char>(sequence[0]) & (0x7fU >> sequence.size());
  for (const char c : sequence.substr(1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0U) != 0x80) return kNone;
    code = code << 6U | (byte & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[sequence.size()] || code > 0x10ffff || is_surrogate) return kNone;
  return code;
}

// One sequence from the front of text, written; how many bytes it had.
std::size_t append_sequence(std::string_view text, std::string& out) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    append_code_point(lead, out);
    return 1;
  }
  const std::size_t size = sequence_size(lead);
  const std::uint32_t code =
      size == 0 || text.size() < size ? 0xffffffff : code_point(text.substr(0, size));
  if (code == 0xffffffff) {
    out += kReplacement;
    return 1;
  }
  if (has_unprintable(text.substr(0, size))) {
    append_code_point(code, out);
  } else {
    out.append(text.substr(0, size));
  }
  return size;
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

template <class T>
void append_number(T value, std::string& out) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

void JsonWriter::begin_object() {
  separate();
  out_ += '{';
  needs_comma_ = false;
}

void JsonWriter::end_object() {
  out_ += '}';
  needs_comma_ = true;
}

void JsonWriter::begin_array() {
  separate();
  out_ += '[';
  needs_comma_ = false;
}

void JsonWriter::end_array() {
  out_ += ']';
  needs_comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  string(name);
  out_ += ':';
  needs_comma_ = false;
}

void JsonWriter::string(std::string_view text) {
  separate();
  out_ += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(append_sequence(text, out_));
  }
  out_ += '"';
}

void JsonWriter::number(std::int64_t value) {
  separate();
  append_number(value, out_);
}

void JsonWriter::number(std::uint64_t value) {
  separate();
  append_number(value, out_);
}

void JsonWriter::boolean(bool value) { raw(value ? "true" : "false"); }
void JsonWriter::null() { raw("null"); }

void JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
}

void JsonWriter::time(WallTime at) {
  if (at.us == 0) return null();
  string(to_rfc3339(at));
}

void JsonWriter::duration(Duration value) {
  separate();
  constexpr std::int64_t kMicro = 1000000;
  const std::int64_t whole = value.us / kMicro;
  std::int64_t rest = value.us % kMicro;
  if (value.us < 0 && whole == 0) out_ += '-';
  append_number(whole, out_);
  if (rest == 0) return;
  if (rest < 0) rest = -rest;
  std::string digits = std::to_string(rest);
  digits.insert(0, 6 - digits.size(), '0');
  digits.erase(digits.find_last_not_of('0') + 1);
  out_ += '.';
  out_ += digits;
}

}  // namespace muster
