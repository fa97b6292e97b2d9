// Checks of paths and output patterns.
#include "submit/script/pattern.h"

#include <string>

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
        std::string_view("Nntr").find(pattern[at + 1]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace muster
