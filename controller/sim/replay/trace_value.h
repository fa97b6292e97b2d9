// What a field of a trace says, whatever the format.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// A job of a trace with named columns, or one of its attempts.
struct TraceRow {
  Instant submitted;  // UTC, or what is taken for it.
  Duration run;
  std::uint32_t gpus = 0;
  std::string user;
  std::string name;
};

// For a column that is not there.
constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

inline Error bad_trace(const std::string& message) { return fail(ErrorCode::kInvalid, message); }

// As people may read it.
std::string quoted_field(const std::string& text);
// The first of that name, or kNoColumn.
std::size_t find_field(const std::vector<std::string>& names, std::string_view wanted);
// kInvalid when a line has not as many fields as its header.
Result<void> check_width(const std::vector<std::string>& fields, std::size_t columns);
// By strptime, taken for UTC. kInvalid: "'…' is not a time such as <example>".
Result<Instant> utc_by(const char* format, const std::string& text, const char* example);

// All of the text is one number.
template <class T>
std::optional<T> number_as(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster
