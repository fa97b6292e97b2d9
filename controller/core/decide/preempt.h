// Making room: which running attempts to stop so that a blocked job of a queue that may preempt
// theirs, or of an account that is to have back what they borrow, can start. What is lost least, by
// GPU-seconds since the launch, goes first; nobody is stopped whose end is not needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/decide/backfill.h"
#include "controller/core/decide/quota.h"

namespace muster {

constexpr std::size_t kVictimsMax =
    512;  // Attempts stopped for one job; it waits if it needs more.

struct Room {
  std::vector<AttemptKey> victims;          // In rising order. Never empty.
  std::vector<std::vector<NodeId>> places;  // By group.
  Instant at;  // By then they have ended, by the grace of their queues.
};

// Null when stopping whom the queue may preempt, or `reclaim` (null: nobody) gives up, does not
// help, or nobody needs to be stopped. Nodes that others have booked are left alone. Pure; costs a
// look at every node.
std::optional<Room> find_room(const Present& present, const Backfill& backfill,
                              const PlanRequest& request, const Reclaim* reclaim = nullptr);

// The mark that a victim's cause carries: `by` of the cause.
std::string preemptor_text(ElementKey element, bool is_array);

}  // namespace muster
