// Limits that are looked at when a job enters, or changes its terms.
#pragma once

#include <map>

#include "base/types/result.h"
#include "controller/core/decide/limit_book.h"

namespace muster {

// For the jobs of one request, which count against the limits one after the other.
class SubmitLimits {
 public:
  SubmitLimits(const Cluster& cluster, LimitBook& book) : cluster_(cluster), book_(book) {}
  // The terms are complete. kLimit: later, perhaps; kInvalid: never as it is. `now` is what a job
  // in the queue has been so far. Null: it comes new.
  Result<void> check(Uid uid, const std::string& user, const JobTerms& terms,
                     const JobFacts* now = nullptr);

 private:
  Result<void> check_tally(LimitBook::Tally& tally, const JobTerms& terms, const JobFacts* now);

  const Cluster& cluster_;
  LimitBook& book_;
  std::map<const LimitBook::Tally*, std::uint64_t> added_;
};

// Whether the QOS exists and the account may use it. Empty: none is asked for.
Result<void> check_qos(const Cluster& cluster, const std::string& qos, const std::string& account);

}  // namespace muster
