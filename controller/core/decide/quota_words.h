// Quotas in words: what is guaranteed, what is borrowed, and what to do.
#pragma once

#include <string>

#include "controller/core/decide/quota.h"
#include "controller/core/verdict.h"

namespace muster {

// "account lab-a may use 12 GPUs of queue day (8 guaranteed, 4 borrowed), and this job asks for 16"
std::string never_text(const QuotaBreach& breach);

// Fills reason and sentence, and the end after which the account may use so much by its cap.
void explain_quota(const Cluster& cluster, QuotaBook& book, const QuotaBreach& breach, Instant now,
                   Explanation& why);

// "; account lab-b uses 4 of its 8 guaranteed GPUs of queue day, …": what a job within its quota
// has before it. Empty when nobody borrows.
std::string reclaim_text(const Cluster& cluster, const QuotaBook& book, const QuotaTally& tally,
                         Duration waited);

}  // namespace muster
