// Jobs enter: an atomic batch, once per request id. Internal to the core.
#pragma once

#include "controller/core/step.h"

namespace muster {

void submit_jobs(Step& step, const SubmitJobs& command);

}  // namespace muster
