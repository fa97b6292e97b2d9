// What a site's submit policy is asked and may answer: JSON in, edits or a refusal out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/message/job_request.h"
#include "base/types/result.h"
#include "controller/core/command.h"

namespace muster {

constexpr std::size_t kRefusalBytesMax = 500;
constexpr std::size_t kEditNotesMax = 20;

// The question: who submits (with the names of their groups), and each job's JobSpec and command.
std::string policy_question(const Requester& who, const std::vector<std::string>& groups,
                            const SubmitBody& body);

// Carries out an answer on the jobs; the edits in words, one line for each kind of edit.
// kConflict with the site's line when it refuses. kInvalid when the answer is none (nothing of body
// is to be used then): not JSON, unknown keys, wrong types, another number of jobs. The edited jobs
// are checked by admission as if the user had asked for them.
Result<std::vector<std::string>> apply_policy(std::string_view answer, SubmitBody& body);

}  // namespace muster
