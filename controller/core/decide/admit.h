// Whether a job may enter, and what it then says in full. Refusals name the object, the cause and
// the next step.
#pragma once

#include "base/types/node_limits.h"
#include "base/types/result.h"
#include "controller/core/command.h"
#include "controller/core/decide/ledger.h"

namespace muster {

constexpr std::uint32_t kPortsPerJobMax = 64;
constexpr std::size_t kNamesPerGroupMax = 100000;
constexpr std::uint64_t kTasksPerJobMax = 1000000;

// The spec with queue, account, name and time limit filled in and the array in order.
// `before` may be a spec that was admitted a moment ago: what it shares with this one is not looked
// at again.
Result<JobSpec> admit(const Cluster& cluster, const Ledger& ledger, const Requester& who,
                      const JobSpec& asked, const JobSpec* before = nullptr);

// Refuses what no set of the queue's nodes could ever hold, even if all of them were idle and up.
Result<void> check_possible(const Cluster& cluster, const Ledger& ledger, const QueueConfig& queue,
                            const std::vector<Group>& groups, const std::string& reservation = "");

// Disjoint ranges in rising order with the same elements. Overlapping ones are joined.
Result<ArraySpec> ordered_array(const ArraySpec& array, std::uint32_t elements_max);

Result<void> check_time(const QueueConfig& queue, Duration limit);
// Users may only raise it from what it is, `least`.
Result<void> check_nice(const Requester& who, std::int32_t nice, std::int32_t least);
Result<void> check_account(const Cluster& cluster, const QueueConfig& queue,
                           const std::string& account, const std::string& user);
Result<const QueueConfig*> queue_must_be_open(const Cluster& cluster, const std::string& name);

}  // namespace muster
