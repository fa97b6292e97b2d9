// Splitting, and times that commands wait.
#include "submit/script/value.h"

#include <string>

namespace muster {

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<Duration> parse_seconds(std::string_view text) {
  if (text == "0" || text == "0s") return Duration{};
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return parse_duration(bare ? std::string(text) + "s" : std::string(text));
}

}  // namespace muster
