// Texts of ids, and back.
#include "base/types/ids.h"

#include <limits>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kUuidChars = 36;

bool is_uuid_dash(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_text(const ElementKey& key, bool is_array) {
  std::string text = std::to_string(key.job.value);
  if (is_array) text += "_" + std::to_string(key.element.value);
  return text;
}

std::string to_text(const AttemptKey& key) {
  return std::to_string(key.job.value) + "." + std::to_string(key.element.value) + "." +
         std::to_string(key.attempt.value);
}

Result<AttemptKey> parse_attempt_key(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) {
    return fail(ErrorCode::kInvalid,
                "\"" + escape_for_terminal(text.substr(0, 64)) + "\" is not job.element.attempt");
  }
  constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint32_t>::max();
  auto job = parse_count(text.substr(0, first), 1, std::numeric_limits<std::uint64_t>::max());
  if (!job) return fail(ErrorCode::kInvalid, "job of an attempt: " + job.error().message);
  auto element = parse_count(text.substr(first + 1, second - first - 1), 0, kNumberMax);
  if (!element)
    return fail(ErrorCode::kInvalid, "element of an attempt: " + element.error().message);
  auto attempt = parse_count(text.substr(second + 1), 1, kNumberMax);
  if (!attempt)
    return fail(ErrorCode::kInvalid, "number of an attempt: " + attempt.error().message);
  return AttemptKey{
      {*job}, {static_cast<std::uint32_t>(*element)}, {static_cast<std::uint32_t>(*attempt)}};
}

std::string to_text(const Uuid& uuid) {
  const std::string digits = hex(uuid.bytes.data(), uuid.bytes.size());
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" +
         digits.substr(16, 4) + "-" + digits.substr(20);
}

Result<Uuid> parse_uuid(std::string_view text) {
  const Error refused = fail(ErrorCode::kInvalid,
                             "\"" + escape_for_terminal(text.substr(0, 64)) + "\" is not a UUID");
  if (text.size() != kUuidChars) return refused;
  Uuid uuid;
  std::size_t nibble = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_uuid_dash(at)) {
      if (text[at] != '-') return refused;
      continue;
    }
    const int value = hex_value(text[at]);
    if (value < 0) return refused;
    std::uint8_t& byte = uuid.bytes[nibble / 2];
    byte = static_cast<std::uint8_t>(byte << 4U | value);
    ++nibble;
  }
  return uuid;
}

std::string hex(const std::uint8_t* data, std::size_t size) {
  std::string text;
  text.reserve(size * 2);
  for (std::size_t i = 0; i < size; ++i) {
    text += kHexDigits[data[i] >> 4U];
    text += kHexDigits[data[i] & 15U];
  }
  return text;
}

}  // namespace muster
