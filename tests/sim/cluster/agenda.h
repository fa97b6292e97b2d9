// Simulated time: what is to happen when. Two things at one instant happen in the order they were
// put down.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/types/time.h"

namespace muster::sim {

class Agenda {
 public:
  Instant now() const { return now_; }
  void after(Duration wait, std::function<void()> what) {
    entries_.emplace(std::pair{now_ + wait, ++last_}, std::move(what));
  }
  // False when nothing is left to happen.
  bool run_next() {
    if (entries_.empty()) return false;
    auto entry = entries_.extract(entries_.begin());
    now_ = entry.key().first;
    entry.mapped()();
    return true;
  }

 private:
  Instant now_{seconds(1000).us};
  std::uint64_t last_ = 0;
  std::map<std::pair<Instant, std::uint64_t>, std::function<void()>> entries_;
};

}  // namespace muster::sim
