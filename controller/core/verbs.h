// What people do to jobs that exist. Internal to the core.
#pragma once

#include "controller/core/step.h"

namespace muster {

void cancel_jobs(Step& step, const CancelJobs& command);
void hold_jobs(Step& step, const HoldJobs& command);
void release_jobs(Step& step, const ReleaseJobs& command);
void requeue_jobs(Step& step, const RequeueJobs& command);
void top_jobs(Step& step, const TopJobs& command);
void set_jobs(Step& step, const SetJobs& command);

}  // namespace muster
