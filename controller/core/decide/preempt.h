// Making room: which running attempts to stop so that a blocked job whose queue or QOS may preempt
// theirs, or of an account that is to have back what they borrow, can start. What is lost least, by
// GPU-seconds since the launch, goes first; nobody is stopped whose end is not needed.
//
// Nobody is stopped in turn: queues preempt those of lower priority only, and a QOS what runs in
// queues that are not above the job's own. Within one priority the QOS go in no circle
// (config_check), and queues ordered by service, where the level decides, are left out.
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

// Whether a QOS of jobs in one queue may stop jobs in the other, if it may stop theirs.
bool reaches_by_qos(const QueueConfig& own, const QueueConfig& victims);
// Whether the job may stop the other by its QOS.
bool preempts_by_qos(const Cluster& cluster, const JobTerms& own, const JobTerms& victim);

// Null when stopping whom the queue or the QOS may preempt, or who gives back (`reclaim`; null:
// there are no quotas), does not help, or nobody needs to be stopped. Nodes that others have booked
// are left alone. Pure; costs a look at every node.
std::optional<Room> find_room(const Present& present, const Backfill& backfill,
                              const PlanRequest& request, const Reclaim* reclaim = nullptr);

// The mark that a victim's cause carries: `by` of the cause.
std::string preemptor_text(ElementKey element, bool is_array);

}  // namespace muster
