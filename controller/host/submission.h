// A submit request turned into new jobs: limits of what only the launch needs, blobs stored, groups
// resolved.
#pragma once

#include <vector>

#include "base/message/request.h"
#include "controller/core/command.h"
#include "controller/host/blob_store.h"

namespace muster {

// kInvalid or kLimit with one line that names the job (by its place in the request when there are
// several).
Result<void> check_submission(const SubmitBody& body);

// Stores scripts and environments (not for a dry run). kUnavailable: the state disk is full.
Result<std::vector<NewJob>> new_jobs(SubmitBody body, const std::vector<Gid>& groups,
                                     BlobStore& blobs);

}  // namespace muster
