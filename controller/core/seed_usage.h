// Usage that was counted elsewhere, taken over for fair share. Internal to the core.
#pragma once

#include "controller/core/step.h"

namespace muster {

void set_usage(Step& step, const SetUsage& command);

}  // namespace muster
