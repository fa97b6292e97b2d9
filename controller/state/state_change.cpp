// What a question about a dump may change.
#include <charconv>
#include <string_view>

#include "base/types/text.h"
#include "controller/state/state_run.h"

namespace muster {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

Error bad(const std::string& text, const std::string& why) {
  return fail(ErrorCode::kInvalid, "'" + escape_for_terminal(text) + "': " + why);
}

}  // namespace

Result<AddedNodes> parse_added_nodes(const std::string& text) {
  AddedNodes added;
  const std::size_t times = text.find('x');
  if (times == std::string::npos || times + 1 == text.size() ||
      !read_number(std::string_view(text).substr(0, times), added.count) || added.count == 0 ||
      added.count > kNodesAddedMax)
    return bad(
        text, "say how many and like which, as in 4xn1; at most " + std::to_string(kNodesAddedMax));
  added.like = text.substr(times + 1);
  return added;
}

}  // namespace muster
