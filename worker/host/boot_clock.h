// The clock of leases and timers: it counts while the machine sleeps and never goes back.
#pragma once

#include <ctime>

#include "base/types/time.h"

namespace muster {

inline Instant boot_now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return {std::int64_t{time.tv_sec} * 1000000 + time.tv_nsec / 1000};
}

}  // namespace muster
