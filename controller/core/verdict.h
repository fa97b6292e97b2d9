// "Not now" as a value with a reason a user can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/resources.h"

namespace muster {

enum class WaitReason : std::uint8_t {
  kNotTried,  // Submitted after the last pass; the next one looks at it.
  kHeld,
  kBackoff,  // Pending again after a fault; not before a time.
  kNoFreeGpus,
  kNoFreeCpus,
  kNoFreeMemory,
  kNodesUnavailable,  // Enough nodes exist, but too many are drained, suspect or dead.
  kBehindOthers,      // Fits, but a job with higher priority comes first.
  kArrayLimit,        // As many elements run as the array allows.
  kQueueClosed,
  kNeverPossible,  // The cluster has shrunk: no set of nodes can satisfy it.
  kKeptForOthers,  // Would fit, but into the planned start of a job that comes first.
  kNoFreeLicence,
  kScattered,           // Enough nodes fit, but not near enough to one another.
  kUserLimit,           // As much runs as a limit allows: of the user,
  kAccountLimit,        // of an account, or of its users,
  kQueueLimit,          // of the queue, or of its users or accounts,
  kQosLimit,            // of the QOS, or of its users or accounts.
  kDependency,          // Waits for other jobs.
  kDependencyNever,     // What it waits for can never hold any more.
  kNotYet,              // Before its begin time.
  kMakingRoom,          // Attempts are being stopped for it.
  kQuota,               // Its account may borrow no more of the queue.
  kReserved,            // Would fit, but into a reservation of others.
  kOutsideReservation,  // Its own reservation is not on, or does not take it.
};
template <>
struct EnumNames<WaitReason> {
  static constexpr std::array<std::string_view, 25> kNames{"not-tried",
                                                           "held",
                                                           "backoff",
                                                           "no-free-gpus",
                                                           "no-free-cpus",
                                                           "no-free-memory",
                                                           "nodes-unavailable",
                                                           "behind-others",
                                                           "array-limit",
                                                           "queue-closed",
                                                           "never-possible",
                                                           "kept-for-others",
                                                           "no-free-licence",
                                                           "scattered",
                                                           "user-limit",
                                                           "account-limit",
                                                           "queue-limit",
                                                           "qos-limit",
                                                           "dependency",
                                                           "dependency-never",
                                                           "not-yet",
                                                           "making-room",
                                                           "quota",
                                                           "reserved",
                                                           "outside-reservation"};
};

// One constraint and how many nodes fail it, counted over the nodes of the queue; each node is
// counted once, at the first constraint it fails, so that the counts and nodes_fit add up to
// nodes_total.
struct Blocker {
  std::string constraint;  // "4 free GPUs of type h100", "32 free CPUs", "node is up", …
  std::uint32_t nodes_failing = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "constraint", self.constraint);
    visit(2, "nodes_failing", self.nodes_failing);
  }
};

struct Explanation {
  JobId job;
  WaitReason reason = WaitReason::kNotTried;
  std::string sentence;           // For people, with the next step.
  std::uint32_t nodes_total = 0;  // Of the queue.
  std::uint32_t nodes_fit = 0;    // That could hold a member now.
  std::uint32_t nodes_needed = 0;
  std::vector<Blocker> blockers;  // Worst first.
  std::uint32_t jobs_ahead = 0;   // Pending jobs of higher priority in the queue.
  std::optional<AttemptKey>
      frees_last;  // The running attempt whose end lets it start, when limits are kept.
  std::optional<Instant> start_latest;  // When that is, by time limits.
  std::optional<Instant> planned_at;    // Nodes are kept free for it from then on.
  std::string reserved;                 // Which reservation is in its way, and what would help.
  std::optional<Duration> limit_max;    // With a time limit of at most this it would start.
  std::optional<Instant> start_half;    // Is likely to have started by then: one of two,
  std::optional<Instant> start_most;    // nine of ten.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "reason", self.reason);
    visit(3, "sentence", self.sentence);
    visit(4, "nodes_total", self.nodes_total);
    visit(5, "nodes_fit", self.nodes_fit);
    visit(6, "nodes_needed", self.nodes_needed);
    visit(7, "blockers", self.blockers);
    visit(8, "jobs_ahead", self.jobs_ahead);
    visit(9, "frees_last", self.frees_last);
    visit(10, "start_latest", self.start_latest);
    visit(11, "planned_at", self.planned_at);
    visit(26, "reserved", self.reserved);
    visit(27, "limit_max", self.limit_max);
    visit(50, "start_half", self.start_half);
    visit(51, "start_most", self.start_most);
  }
};

struct Wait {
  WaitReason reason = WaitReason::kNotTried;
};
using Verdict = std::variant<Place, Wait>;

}  // namespace muster
