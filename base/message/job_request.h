// What is asked about jobs, and answered: submit, change, list, explain, watch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/cause.h"
#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/time.h"

namespace muster {

// ---- submit ----
struct SubmitJob {
  JobSpec spec;
  LaunchSpec launch;
  std::uint32_t script = 0;       // 1-based index into SubmitBody::scripts; 0: none.
  std::uint32_t environment = 0;  // 1-based index into SubmitBody::environments; 0: none.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "spec", self.spec);
    visit(2, "launch", self.launch);
    visit(3, "script", self.script);
    visit(4, "environment", self.environment);
  }
};
// All or none; at most kBulkJobsMax jobs. Environments are "KEY=VALUE\0" strings one after the
// other.
struct SubmitBody {
  std::vector<SubmitJob> jobs;
  std::vector<std::string> scripts;
  std::vector<std::string> environments;
  bool dry_run = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "scripts", self.scripts);
    visit(3, "environments", self.environments);
    visit(4, "dry_run", self.dry_run);
  }
};
// What else could be asked for to start sooner.
struct SoonerRow {
  std::string options;  // Of gpusubmit.
  WallTime start_p50;
  WallTime start_p90;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "options", self.options);
    visit(2, "start_p50", self.start_p50);
    visit(3, "start_p90", self.start_p90);
  }
};
// When a job that is not submitted would start.
struct TrialReply {
  bool fits_now = false;
  WallTime start_p50;  // One of two such jobs starts by then; 0: no start is in sight,
  WallTime start_p90;  // nine of ten.
  std::vector<SoonerRow> sooner;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "fits_now", self.fits_now);
    visit(2, "start_p50", self.start_p50);
    visit(3, "start_p90", self.start_p90);
    visit(4, "sooner", self.sooner);
  }
};
// Also the answer of every verb that changes jobs or nodes.
struct ChangeReply {
  std::vector<JobId> jobs;            // In order of the request.
  std::vector<std::string> notes;     // Warnings, one line each.
  std::optional<TrialReply> trial{};  // Of a dry run of one job.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "notes", self.notes);
    visit(50, "trial", self.trial);
  }
};

// ---- verbs on jobs ----
struct JobChoice {
  JobId job;
  std::optional<Element> element;  // Absent: the whole job.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
  }
};
struct SelectBody {
  std::vector<JobChoice> jobs;
  std::vector<std::string> names;
  std::vector<std::string> users;
  std::vector<std::string> queues;
  bool all_mine = false;
  std::int32_t signal = 0;             // For cancel: send this instead of ending the job.
  std::optional<Duration> time_limit;  // For set, with the following.
  std::optional<std::string> queue;
  std::optional<std::string> account;
  std::optional<std::int32_t> priority;
  std::optional<std::string> name;
  std::optional<std::string> qos;  // Empty: none.
  std::optional<std::int32_t> nice;
  std::optional<Depends> depends;
  std::optional<WallTime> begin;
  std::optional<WallTime> deadline;
  std::optional<std::uint32_t> throttle;
  std::optional<std::string> reservation;  // Empty: none from now on.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "names", self.names);
    visit(3, "users", self.users);
    visit(4, "queues", self.queues);
    visit(5, "all_mine", self.all_mine);
    visit(6, "signal", self.signal);
    visit(7, "time_limit", self.time_limit);
    visit(8, "queue", self.queue);
    visit(9, "account", self.account);
    visit(10, "priority", self.priority);
    visit(11, "name", self.name);
    visit(20, "qos", self.qos);
    visit(21, "nice", self.nice);
    visit(40, "depends", self.depends);
    visit(41, "begin", self.begin);
    visit(42, "deadline", self.deadline);
    visit(43, "throttle", self.throttle);
    visit(26, "reservation", self.reservation);
  }
};

// ---- reads ----
enum class JobState : std::uint8_t { kHeld, kPending, kStarting, kRunning, kStopping, kEnded };
template <>
struct EnumNames<JobState> {
  static constexpr std::array<std::string_view, 6> kNames{"held",    "pending",  "starting",
                                                          "running", "stopping", "ended"};
};

struct JobsBody {
  std::vector<JobChoice> jobs;
  std::vector<std::string> users;  // Empty: everybody the caller may see.
  std::vector<std::string> queues;
  std::vector<std::string> names;
  std::vector<JobState> states;  // Empty: all that have not ended.
  bool include_ended = false;    // Those still in memory.
  JobId after;                   // Rows with larger ids only: for paging.
  std::uint32_t rows_max = 0;    // 0: no limit but the server's.
  bool pages = false;            // The answer may come in several responses (more = true).
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "users", self.users);
    visit(3, "queues", self.queues);
    visit(4, "names", self.names);
    visit(5, "states", self.states);
    visit(6, "include_ended", self.include_ended);
    visit(7, "after", self.after);
    visit(8, "rows_max", self.rows_max);
    visit(9, "pages", self.pages);
  }
};

// One line of a list: a plain job, one touched element of an array, or the untouched rest of it
// (elements set).
struct JobRow {
  JobId job;
  Element element;
  std::string elements;  // "0-99:1" text of the ranges this row stands for; empty for one element
                         // or a plain job.
  bool is_array = false;
  std::string name;
  std::string user;
  Uid uid;
  std::string queue;
  std::string account;
  JobState state = JobState::kPending;
  std::string reason;  // Why it waits or how it ended: a short word of WaitReason or CauseKind.
  std::uint32_t nodes = 0;
  std::uint32_t gpus = 0;  // In all.
  std::uint32_t cpus = 0;
  AttemptNo attempt;      // Current or last; 0: none yet.
  std::string node_list;  // Host list of the current or last attempt.
  std::int32_t priority = 0;
  Duration time_limit;
  WallTime submitted;
  WallTime started;  // Of the current or last attempt; 0: none.
  WallTime ended;
  std::int32_t exit_status = 0;
  WallTime start_p50;  // Of a pending one: likely to have started by then, one of two; 0: unknown,
  WallTime start_p90;  // nine of ten.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
    visit(3, "elements", self.elements);
    visit(4, "is_array", self.is_array);
    visit(5, "name", self.name);
    visit(6, "user", self.user);
    visit(7, "uid", self.uid);
    visit(8, "queue", self.queue);
    visit(9, "account", self.account);
    visit(10, "state", self.state);
    visit(11, "reason", self.reason);
    visit(12, "nodes", self.nodes);
    visit(13, "gpus", self.gpus);
    visit(14, "cpus", self.cpus);
    visit(15, "attempt", self.attempt);
    visit(16, "node_list", self.node_list);
    visit(17, "priority", self.priority);
    visit(18, "time_limit", self.time_limit);
    visit(19, "submitted", self.submitted);
    visit(20, "started", self.started);
    visit(21, "ended", self.ended);
    visit(22, "exit_status", self.exit_status);
    visit(50, "start_p50", self.start_p50);
    visit(51, "start_p90", self.start_p90);
  }
};
struct JobsReply {
  std::vector<JobRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

struct JobBody {
  JobChoice job;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
  }
};

// One node of the current or last attempt.
struct MemberRow {
  std::string node;
  std::uint32_t rank_first = 0;
  std::uint32_t tasks = 0;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::vector<std::uint32_t> gpu_indices;
  std::string phase;  // What its worker last said.
  std::optional<ExitRecord> record;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "rank_first", self.rank_first);
    visit(3, "tasks", self.tasks);
    visit(4, "cpus", self.cpus);
    visit(5, "memory_mib", self.memory_mib);
    visit(6, "gpu_indices", self.gpu_indices);
    visit(7, "phase", self.phase);
    visit(8, "record", self.record);
  }
};
// One job in full.
struct JobReply {
  JobRow row;
  JobSpec spec;
  LaunchSpec launch;  // Only for its owner, operators and admins.
  std::vector<MemberRow> members;
  std::optional<Cause> cause;
  std::string why;  // The sentence of an explanation, while it waits.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "row", self.row);
    visit(2, "spec", self.spec);
    visit(3, "launch", self.launch);
    visit(4, "members", self.members);
    visit(5, "cause", self.cause);
    visit(6, "why", self.why);
  }
};

// why: body JobBody.
struct WhyBlocker {
  std::string constraint;
  std::uint32_t nodes_failing = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "constraint", self.constraint);
    visit(2, "nodes_failing", self.nodes_failing);
  }
};
struct WhyReply {
  JobId job;
  std::string reason;  // Name of a WaitReason, or the job's state.
  std::string sentence;
  std::uint32_t nodes_total = 0;
  std::uint32_t nodes_fit = 0;
  std::uint32_t nodes_needed = 0;
  std::vector<WhyBlocker> blockers;
  std::uint32_t jobs_ahead = 0;
  std::string frees_last;             // "17.0.1"; empty: none.
  WallTime start_latest;              // 0: unknown.
  std::optional<Duration> limit_max;  // With a time limit of at most this it would start.
  WallTime start_p50;  // One of two such jobs starts by then; 0: no start is in sight,
  WallTime start_p90;  // nine of ten.
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
    visit(26, "limit_max", self.limit_max);
    visit(50, "start_p50", self.start_p50);
    visit(51, "start_p90", self.start_p90);
  }
};

// watch: body JobsBody; first response holds the rows that match now, each later one (more = true)
// those that changed. A row that no longer matches comes once more in its last state. reset: forget
// all rows before this (slow reader).
struct WatchReply {
  bool reset = false;
  std::vector<JobRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "reset", self.reset);
    visit(2, "rows", self.rows);
  }
};

}  // namespace muster
