// Times and columns.
#include "controller/sim/replay/trace_value.h"

#include <algorithm>
#include <ctime>

#include "base/types/text.h"

namespace muster {

std::string quoted_field(const std::string& text) { return "'" + escape_for_terminal(text) + "'"; }

std::size_t find_field(const std::vector<std::string>& names, std::string_view wanted) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  return found == names.end() ? kNoColumn : static_cast<std::size_t>(found - names.begin());
}

Result<void> check_width(const std::vector<std::string>& fields, std::size_t columns) {
  if (fields.size() == columns) return {};
  return bad_trace(std::to_string(columns) + " fields are expected, here are " +
                   std::to_string(fields.size()));
}

Result<Instant> utc_by(const char* format, const std::string& text, const char* example) {
  std::tm when{};
  const char* rest = strptime(text.c_str(), format, &when);
  if (rest == nullptr || *rest != '\0')
    return bad_trace(quoted_field(text) + " is not a time such as " + example);
  return Instant{std::int64_t{timegm(&when)} * 1'000'000};
}

}  // namespace muster
