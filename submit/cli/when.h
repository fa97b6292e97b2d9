// Times for people: local in tables, and as they type them. JSON has UTC, from base/message/json.h.
#pragma once

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

WallTime wall_now();

// "2026-11-30 18:07", in the zone of TZ; "-" for 0.
std::string local_time(WallTime at);
std::string local_time_with_seconds(WallTime at);

// "2026-11-30", "2026-11-30 18:07[:30]" or with "T" (local), with "Z" at the end (UTC), "now",
// "today", "yesterday", or how long ago: "90m", "2h", "7d".
Result<WallTime> parse_when(std::string_view text, WallTime now);
// The same for what is to come, and all that submit/script/time_ahead.h takes: "now+2h", "16:00",
// "tomorrow"; "2h" is in two hours.
Result<WallTime> parse_when_ahead(std::string_view text, WallTime now);

}  // namespace muster
