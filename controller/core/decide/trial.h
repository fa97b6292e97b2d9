// What-if: takes and releases on the ledger that are undone at the end of the scope.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "controller/core/decide/ledger.h"

namespace muster {

class Trial {
 public:
  explicit Trial(Ledger& ledger) : ledger_(ledger), generation_(ledger.generation_) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    undo_to(0);
    ledger_.generation_ = generation_;
  }

  void take(std::shared_ptr<const Place> place) {
    ledger_.take(*place);
    steps_.emplace_back(true, std::move(place));
  }
  void release(std::shared_ptr<const Place> place) {
    ledger_.give(*place);
    steps_.emplace_back(false, std::move(place));
  }
  std::size_t steps() const { return steps_.size(); }
  void undo_to(std::size_t steps) {
    while (steps_.size() > steps) {
      const auto& [taken, place] = steps_.back();
      if (taken)
        ledger_.give(*place);
      else
        ledger_.take(*place);
      steps_.pop_back();
    }
  }

 private:
  Ledger& ledger_;
  std::uint64_t generation_;
  std::vector<std::pair<bool, std::shared_ptr<const Place>>> steps_;
};

}  // namespace muster
