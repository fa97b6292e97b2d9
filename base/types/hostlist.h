// Lists of node names in the short form people use: "n[1-3,07],m2" is n1, n2, n3, n07, m2.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

constexpr std::size_t kHostsMax = 100000;
constexpr std::size_t kHostlistBytesMax = 1U << 20U;
constexpr std::size_t kHostBracketsMax = 4;  // Per name: "r[1-2]n[1-4]" has two.

// The names in the order written, repeated ones too. Refuses an empty list, names outside
// [A-Za-z0-9._-], ranges that run backwards and lists that would hold more than hosts_max names
// (before making them).
Result<std::vector<std::string>> parse_hostlist(std::string_view text,
                                                std::size_t hosts_max = kHostsMax);

// The shortest form of names in their order, so that parse_hostlist() gives back exactly the same
// sequence.
std::string compress_hostlist(std::span<const std::string> names);

// Order for people: digits count as numbers, so n2 comes before n10. Total: equal only when the
// texts are equal.
bool host_before(std::string_view a, std::string_view b);

}  // namespace muster
