// wait_until(condition, limit): tests wait for what they expect, never for a fixed time.
#pragma once

#include <poll.h>

#include <chrono>

namespace muster {

// True as soon as condition() is; false when it still is not after limit. Asks every few
// milliseconds.
template <class Condition>
bool wait_until(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return condition();
    ::poll(nullptr, 0, 3);
  }
  return true;
}

}  // namespace muster
