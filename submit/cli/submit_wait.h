// gpusubmit --wait.
#pragma once

#include "base/message/request.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"

namespace muster {

// Stays until the whole job has ended, through restarts of the controller. Returns the job's exit
// status (of an array: the highest of its elements'); 128 + N after signal N; 1 when it ended in
// another way.
int wait_for_job(const Invocation& call, Caller& caller, JobId job);

// The same rule for one ending.
int exit_status_of(const Cause& cause);

}  // namespace muster
