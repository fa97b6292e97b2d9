// How an attempt, or an element, ended: who or what, with evidence, and whether a retry makes
// sense.
#pragma once

#include <cstdint>
#include <string>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

enum class CauseKind : std::uint8_t {
  kCompleted,       // Exit status 0.
  kExited,          // A task exited with a status other than 0.
  kSignalled,       // A task died of a signal that was not ours.
  kOutOfMemory,     // The cgroup's counter says so, whatever the exit status was.
  kTimedOut,        // Reached its time limit.
  kCancelled,       // By a person: see by.
  kLaunchFailed,    // Never ran: step and errno in evidence. Nobody is charged.
  kNodeFailed,      // The node went away (proved by a new boot id, or an administrator's word).
  kShepherdFailed,  // Its shepherd died; the cgroup was killed.
  kGpuLost,
  kPreempted,
  kRequeued,       // A person asked for another attempt.
  kNeverPossible,  // No node can ever satisfy it any more.
  kDependency,     // What it waited for can never hold any more.
  kDeadline,       // It could not have ended by its deadline.
};
template <>
struct EnumNames<CauseKind> {
  static constexpr std::array<std::string_view, 15> kNames{
      "completed", "exited",        "signalled",      "out-of-memory",    "timed-out",
      "cancelled", "launch-failed", "node-failed",    "shepherd-failed",  "gpu-lost",
      "preempted", "requeued",      "never-possible", "dependency-never", "deadline"};
};

enum class Retry : std::uint8_t { kNo, kElsewhere, kAnywhere };
template <>
struct EnumNames<Retry> {
  static constexpr std::array<std::string_view, 3> kNames{"no", "elsewhere", "anywhere"};
};

struct Cause {
  CauseKind kind = CauseKind::kCompleted;
  std::int32_t exit_status = 0;  // Of the first task that failed; 0 otherwise.
  std::int32_t signal = 0;
  std::string by;          // "user kim (uid 1003)", "time limit", "node n2", …
  std::string evidence;    // One line; may hold hostile text from the job, escaped when shown.
  std::string node;        // Where it happened first; empty when nowhere in particular.
  std::int32_t rank = -1;  // The task that failed first; -1 when none.
  Retry retry = Retry::kNo;
  auto operator<=>(const Cause&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "kind", self.kind);
    visit(2, "exit_status", self.exit_status);
    visit(3, "signal", self.signal);
    visit(4, "by", self.by);
    visit(5, "evidence", self.evidence);
    visit(6, "node", self.node);
    visit(7, "rank", self.rank);
    visit(8, "retry", self.retry);
  }
};

// What one node measured of one attempt. Written by its shepherd, to disk before it is reported.
struct ExitRecord {
  Cause cause;
  Duration ran;              // From launch to the last task's end, by CLOCK_BOOTTIME.
  std::uint64_t cpu_us = 0;  // User and system time of all tasks.
  std::uint64_t memory_peak_mib = 0;
  bool launched = false;  // False when no task was ever started.
  WallTime started_wall;
  WallTime ended_wall;
  auto operator<=>(const ExitRecord&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "cause", self.cause);
    visit(2, "ran", self.ran);
    visit(3, "cpu_us", self.cpu_us);
    visit(4, "memory_peak_mib", self.memory_peak_mib);
    visit(5, "launched", self.launched);
    visit(6, "started_wall", self.started_wall);
    visit(7, "ended_wall", self.ended_wall);
  }
};

}  // namespace muster
