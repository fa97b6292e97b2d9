// Output patterns: which % letters exist. They are expanded on the node, as the user.
#pragma once

#include <string_view>

#include "base/types/result.h"

namespace muster {

// %j job, %A array job, %a index, %x name, %u user, %N node, %n node number, %t and %r rank; %% is
// a percent sign.
constexpr std::string_view kPatternLetters = "jAaxuNntr%";

// 1…kPathBytesMax bytes, printable.
Result<void> check_path(std::string_view text);
// check_path() and only known letters after %.
Result<void> check_pattern(std::string_view text);

// True when nodes (or ranks) write files of their own.
bool differs_by_node(std::string_view pattern);

}  // namespace muster
