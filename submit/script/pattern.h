// Output patterns: which % letters exist. They are expanded on the node, as the user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// %j job, %A array job, %a index, %x name, %u user, %N node, %n node number, %t rank, %r attempt;
// %% is a percent sign.
constexpr std::string_view kPatternLetters = "jAaxuNntr%";

// 1…kPathBytesMax bytes, printable.
Result<void> check_path(std::string_view text);
// check_path() and only known letters after %.
Result<void> check_pattern(std::string_view text);

// True when nodes write files of their own: it has %N, %n or %t.
bool differs_by_node(std::string_view pattern);

struct PatternFacts {
  std::uint64_t job = 0;
  std::uint32_t element = 0;
  std::string name;
  std::string user;
  std::string node;
  std::uint32_t node_number = 0;
  std::uint32_t rank = 0;
  std::uint32_t attempt = 1;
};
// The path as the node makes it: values never bring a "/" in.
std::string expand_pattern(std::string_view pattern, const PatternFacts& facts);

}  // namespace muster
