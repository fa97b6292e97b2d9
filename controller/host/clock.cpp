// CLOCK_BOOTTIME for durations, CLOCK_REALTIME for labels.
#include "controller/host/clock.h"

#include <time.h>

#include <algorithm>

namespace muster {

namespace {

std::int64_t read_us(clockid_t clock) {
  timespec at{};
  MUSTER_ASSERT(clock_gettime(clock, &at) == 0);
  return static_cast<std::int64_t>(at.tv_sec) * 1000000 + at.tv_nsec / 1000;
}

}  // namespace

WallTime wall_now() { return {read_us(CLOCK_REALTIME)}; }
std::int64_t boottime_us() { return read_us(CLOCK_BOOTTIME); }

Clock::Clock(Instant last, WallTime last_wall) : base_(last), boot_us_(boottime_us()) {
  if (last_wall == WallTime{}) return;
  const std::int64_t away = wall_now().us - last_wall.us;
  base_ = last + Duration{std::clamp<std::int64_t>(away, 0, kDowntimeMax.us)};
}

Now Clock::now() const { return {base_ + Duration{boottime_us() - boot_us_}, wall_now()}; }

}  // namespace muster
