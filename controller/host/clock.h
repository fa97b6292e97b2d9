// Engine time at the edge: monotone across restarts and deaf to changes of the wall clock.
#pragma once

#include "base/types/time.h"
#include "controller/core/engine.h"

namespace muster {

// Downtime counts, but never backwards and never more than this: a wrong wall clock at start cannot
// end every job.
constexpr Duration kDowntimeMax = days(7);

class Clock {
 public:
  // last: the newest journalled instant and its label; both 0 for a new journal.
  Clock(Instant last, WallTime last_wall);
  Now now() const;  // Any thread.

 private:
  Instant base_;
  std::int64_t boot_us_;
};

WallTime wall_now();
std::int64_t boottime_us();
// The same as an instant, for timers at the edge. Not engine time: never mix it with Clock::now().
inline Instant boottime() { return {boottime_us()}; }

}  // namespace muster
