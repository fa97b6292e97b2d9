// Reservations as jobs meet them: whether a job may ask for one, and what to tell those that wait
// because of one.
#pragma once

#include <utility>
#include <vector>

#include "base/types/result.h"
#include "controller/core/decide/backfill.h"
#include "controller/core/decide/calendar.h"
#include "controller/core/verdict.h"

namespace muster {

// Refuses a reservation that does not exist, does not take the user and account, or is shorter than
// the job's time limit.
Result<void> check_reservation(const Cluster& cluster, const std::string& user,
                               const JobTerms& terms);

// The job waits for, or can no longer use, the reservation that it asks for: says so. False: that
// is not what it waits for.
bool explain_standing(Explanation& why, const Cluster& cluster, const Calendar& calendar,
                      const JobFacts& job, Instant now);

// How long nodes that fit could be used before a reservation of others.
class Gaps {
 public:
  void add(const Present& present, NodeId node, const JobTerms& terms);
  // Of the reservation that the job would run into on the node that it needs last. wanted: nodes
  // that it lacks, at most as many as were added.
  void tell(Explanation& why, const Calendar& calendar, Instant now, std::uint32_t wanted);

 private:
  std::vector<std::pair<Duration, Conflict>> gaps_;
};

}  // namespace muster
