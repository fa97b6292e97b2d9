// Of all that the members of an ended attempt say: why it ended, and what becomes of its element.
#pragma once

#include <optional>

#include "controller/core/cluster.h"

namespace muster {

constexpr std::size_t kNodesAvoidedMax = 16;
constexpr Duration kBackoffMin = seconds(1);
constexpr Duration kBackoffMax = minutes(2);

// An order to stop by a person stands. Otherwise the strongest evidence wins, and among equals the
// first that led to the stop: what was killed because of another's failure explains nothing.
Cause final_cause(const Attempt& attempt);

AttemptEnded attempt_ended(const Attempt& attempt, const Cause& cause, Instant now);
// ElementsEnded or ElementRequeued.
Event what_follows(const Cluster& cluster, const Attempt& attempt, const Cause& cause);

}  // namespace muster
