// Small readings of option values that belong to no other file.
#pragma once

#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// At least one part; parts may be empty.
std::vector<std::string_view> split_text(std::string_view text, char separator);

// As parse_duration(), but a bare number is seconds, and "0" is allowed: not at all.
Result<Duration> parse_seconds(std::string_view text);

}  // namespace muster
