// Checks of paths and output patterns.
#include "submit/script/pattern.h"

#include <algorithm>

#include "base/types/job_spec.h"
#include "base/types/text.h"

namespace muster {

Result<void> check_path(std::string_view text) {
  if (text.empty()) return fail(ErrorCode::kInvalid, "the path is empty");
  if (text.size() > kPathBytesMax) {
    return fail(ErrorCode::kInvalid, "the path has " + std::to_string(text.size()) +
                                         " bytes; the limit is " + std::to_string(kPathBytesMax));
  }
  if (has_unprintable(text)) {
    return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(text.substr(0, 128)) +
                                         "\" has characters that cannot be printed");
  }
  return {};
}

Result<void> check_pattern(std::string_view text) {
  if (auto fine = check_path(text); !fine) return fine;
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 2)) {
    const std::string_view letter = text.substr(at + 1, 1);
    if (letter.empty() || kPatternLetters.find(letter) == std::string_view::npos) {
      return fail(ErrorCode::kInvalid,
                  "\"" + escape_for_terminal(text) + "\" has \"%" + escape_for_terminal(letter) +
                      "\" at character " + std::to_string(at + 1) +
                      ": known are %j %A %a %x %u %N %n %t %r, and %% for a percent sign");
    }
  }
  return {};
}

bool differs_by_node(std::string_view pattern) {
  for (std::size_t at = pattern.find('%'); at != std::string_view::npos;
       at = pattern.find('%', at + 2)) {
    if (at + 1 < pattern.size() &&
        std::string_view("Nnt").find(pattern[at + 1]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string expand_pattern(std::string_view pattern, const PatternFacts& facts) {
  const auto value_of = [&facts](char letter) -> std::string {
    switch (letter) {
      case 'a':
        return std::to_string(facts.element);
      case 'x':
        return facts.name;
      case 'u':
        return facts.user;
      case 'N':
        return facts.node;
      case 'n':
        return std::to_string(facts.node_number);
      case 't':
        return std::to_string(facts.rank);
      case 'r':
        return std::to_string(facts.attempt);
      case '%':
        return "%";
      default:
        return std::to_string(facts.job);
    }
  };
  std::string path;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%' || at + 1 == pattern.size()) {
      path += pattern[at];
      continue;
    }
    std::string value = value_of(pattern[++at]);
    std::replace(value.begin(), value.end(), '/', '_');
    path += value;
  }
  return path;
}

}  // namespace muster
