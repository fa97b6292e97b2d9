// Exit codes of the commands: the reaction a script can have. Documented in the man pages.
#pragma once

#include "base/types/result.h"

namespace muster {

constexpr int kExitOk = 0;
constexpr int kExitFailed =
    1;  // What was waited for failed (gpusubmit --wait: the job's own code, or this).
constexpr int kExitUsage = 64;        // The command line or a directive is wrong.
constexpr int kExitInvalid = 65;      // The request can never be granted as it is.
constexpr int kExitNotFound = 66;     // No such job, node, queue, file.
constexpr int kExitConflict = 67;     // Not possible in the present state.
constexpr int kExitLimit = 68;        // A limit is reached; less, or later.
constexpr int kExitCorrupt = 70;      // What came back cannot be true.
constexpr int kExitUnavailable = 75;  // Gateway or controller is away: try again.
constexpr int kExitInterrupted = 130;

constexpr int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return kExitInvalid;
    case ErrorCode::kNotFound:
      return kExitNotFound;
    case ErrorCode::kConflict:
      return kExitConflict;
    case ErrorCode::kLimit:
      return kExitLimit;
    case ErrorCode::kUnavailable:
      return kExitUnavailable;
    case ErrorCode::kCorrupt:
      return kExitCorrupt;
  }
  return kExitFailed;
}

}  // namespace muster
