// What a plugin call brings back, and what of it is believed.
#pragma once

#include <string>
#include <vector>

#include "base/types/resources.h"
#include "base/types/result.h"

namespace muster {

struct GpuList {
  std::string error;  // Empty: fine.
  std::vector<GpuFacts> gpus;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "error", self.error);
    visit(2, "gpus", self.gpus);
  }
};

// kInvalid unless they are numbered from 0 in order, with a uuid of their own, a plain type and
// memory each.
Result<void> check_gpus(const std::vector<GpuFacts>& gpus);

}  // namespace muster
