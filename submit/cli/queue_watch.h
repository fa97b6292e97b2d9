// gpuqueue --watch.
#pragma once

#include "base/message/request.h"
#include "submit/cli/command.h"

namespace muster {

// Runs until it is interrupted, or the controller has been away for longer than --timeout. On a
// terminal it draws the whole table again after a change, at most twice a second; elsewhere it
// prints a line for each change, with --json an object.
int watch_queue(const Invocation& call, const JobsBody& filter);

}  // namespace muster
