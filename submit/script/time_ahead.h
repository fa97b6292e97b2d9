// Times to come, as people write them: "now+1h", "16:00", "tomorrow", "2026-12-24T18:00".
#pragma once

#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// In the local time zone, unless it ends in Z. "now", "today", "tomorrow", "midnight", "noon",
// "now+90" (seconds), "now+2h", "now+3days", "HH:MM[:SS]" (the next one),
// "YYYY-MM-DD[THH:MM[:SS]]". The time may lie in the past when a date was written out.
Result<WallTime> parse_time_ahead(std::string_view text, WallTime now);

}  // namespace muster
