// The event of what is said of when jobs start. As those of event.h.
#pragma once

#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

// What is said of when jobs that wait will start; the first time counts.
struct StartSaid {
  JobId job;
  Instant half;
  Instant most;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "half", self.half);
    visit(3, "most", self.most);
  }
};
struct StartsEstimated {
  static constexpr int kType = 66;
  static constexpr std::string_view kName = "StartsEstimated";
  std::vector<StartSaid> starts;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "starts", self.starts);
  }
};

}  // namespace muster
