// Limits in words: who may hold how much, who holds it, and what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/core/decide/limit_book.h"

namespace muster {

// "user kim", "queue day", "each user of account vision (here: kim)".
std::string scope_text(const LimitScope& scope);
// "2.5", of thousandths.
std::string milli_text(std::uint64_t milli);
// "account vision may use 8 GPUs at once, and this job asks for 9".
std::string never_text(const Breach& breach);

// Fills reason, sentence, and the end that makes room by time limits. breaches must not be empty.
void explain_limits(const Cluster& cluster, const std::vector<Breach>& breaches, Instant now,
                    Explanation& why);

}  // namespace muster
