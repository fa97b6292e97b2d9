// Jobs as people type and read them: "17", "17_3", "17_[0-9:2,12]".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/message/request.h"
#include "base/types/result.h"

namespace muster {

constexpr std::size_t kJobChoicesMax = 100000;

// Words, each one or more jobs with commas between them. kInvalid names the word.
Result<std::vector<JobChoice>> parse_jobs(std::span<const std::string> words);
// Exactly one.
Result<JobChoice> parse_job(std::string_view word);

std::string to_text(const JobChoice& choice);
// "17", "17_3", or "17_[0-99]" for the untouched rest of an array.
std::string job_text(const JobRow& row);

// "TERM", "SIGTERM", "15".
Result<std::int32_t> parse_signal(std::string_view text);

}  // namespace muster
