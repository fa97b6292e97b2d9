// The indices of a job array: "0-99%8,200-300:2".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/job_spec.h"
#include "base/types/result.h"

namespace muster {

constexpr std::uint64_t kArrayIndexMax = 4294967294;

// Items "N", "A-B" and "A-B:STEP" with commas between them; "%N" after any one of them, once, is
// for the whole array. The ranges come back in rising order and disjoint, however they were
// written; an index given twice is refused.
Result<ArraySpec> parse_array(std::string_view text);

// "0-99,200-300:2%8".
std::string to_text(const ArraySpec& array);

}  // namespace muster
