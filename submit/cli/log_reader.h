// Reading a job's output through the controller's relay.
#pragma once

#include "base/message/request.h"
#include "base/types/result.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"

namespace muster {

// Prints what there is. With follow: waits for the job to start, goes on until it has ended, and
// from one attempt to the next.
Result<void> read_log(const Invocation& call, Caller& caller, LogOpenBody place, bool follow);

}  // namespace muster
