// Small readings of option values that belong to no other file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// At least one part; parts may be empty.
std::vector<std::string_view> split_text(std::string_view text, char separator);

// As parse_duration(), but a bare number is seconds, and "0" is allowed: not at all.
Result<Duration> parse_seconds(std::string_view text);

// "2-8", or "4", which is 4-4. At least 1, at most max.
struct CountRange {
  std::uint64_t min = 1;
  std::uint64_t max = 1;
};
Result<CountRange> parse_range(std::string_view text, std::uint64_t max);

// "0.5" and "500m": thousandths of a GPU, from 1 to 1000.
Result<std::uint32_t> parse_share(std::string_view text);
bool is_share(std::string_view text);  // Has the look of one: a point or an m.

// "matlab:2,foo": one of what has no count. Each name once.
Result<std::vector<LicenceCount>> parse_licences(std::string_view text);

// "clique", "switch", "switch:NAME", "block", "block:NAME", "switches=N", "segment=N", each with a
// "!" behind it when it must be so.
struct ParsedTopology {
  bool clique = false;  // Of each node's own GPUs; then the wish is none.
  bool required = false;
  TopologyWish wish;
};
Result<ParsedTopology> parse_topology(std::string_view text);

}  // namespace muster
