// The output of a job that has ended, from the file itself: nodes forget an attempt when its end is
// on record.
#pragma once

#include "base/message/request.h"
#include "base/types/result.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"

namespace muster {

// Prints the file the job wrote when it can be seen from here and the controller still knows the
// job. Otherwise why, with what could not be done.
Result<void> print_log_file(const Invocation& call, Caller& caller, const LogOpenBody& place,
                            const Error& why);

// Where the file lies: an absolute path. kNotFound with the reason when it is in no file a user
// could open.
Result<std::string> log_file_path(const JobReply& job, const LogOpenBody& place);

}  // namespace muster
