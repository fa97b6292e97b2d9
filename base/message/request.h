// What clients ask a controller, and what they hear. A request travels: command -> gateway (Unix socket, framed) ->
// controller (CURVE). The gateway stamps who asks; nothing a client writes into the envelope can change that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/cause.h"
#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/resources.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

template <>
struct EnumNames<ErrorCode> {
  static constexpr std::array<std::string_view, 6> kNames{"invalid", "not-found", "conflict", "limit", "unavailable", "corrupt"};
};

// Protocol of envelopes. A controller takes its own and the two before.
constexpr std::uint32_t kRequestProtocol = 1;

enum class Verb : std::uint8_t {
  kPing, kStatus, kSubmit, kCancel, kHold, kRelease, kRequeue, kTop, kSet,
  kJobs, kJob, kWhy, kWatch, kNodes, kQueues, kAccounts, kAccounting,
  kLogOpen, kLogRead, kLogClose,
  kNodeAdd, kNodeDrain, kNodeResume, kNodeRemove, kNodeConfirmDead, kReload, kConfigShow,
};
template <>
struct EnumNames<Verb> {
  static constexpr std::array<std::string_view, 27> kNames{
      "ping", "status", "submit", "cancel", "hold", "release", "requeue", "top", "set",
      "jobs", "job", "why", "watch", "nodes", "queues", "accounts", "accounting",
      "log-open", "log-read", "log-close",
      "node-add", "node-drain", "node-resume", "node-remove", "node-confirm-dead", "reload", "config-show"};
};

struct Request {
  std::uint32_t protocol = kRequestProtocol;
  std::uint64_t number = 0;  // The client's; its reply carries it.
  Verb verb = Verb::kPing;
  std::optional<Uuid> request_id;  // For verbs that change something: a retry is the same request.
  Seq seen;                        // Last acknowledged sequence: a read waits for it (read your writes).
  std::string body;                // Encoded body of the verb.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "protocol", self.protocol);
    visit(2, "number", self.number);
    visit(3, "verb", self.verb);
    visit(4, "request_id", self.request_id);
    visit(5, "seen", self.seen);
    visit(6, "body", self.body);
  }
};

// What the gateway wraps around the client's bytes on their way to the controller.
struct StampedRequest {
  std::uint64_t connection = 0;  // The gateway's number of the client's connection.
  Uid uid;                       // By SO_PEERCRED at connect.
  Gid gid;
  std::int32_t pid = 0;
  std::string request;  // Encoded Request, untouched.
  bool closed = false;  // The client is gone: its watches and logs end. request is empty then.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "connection", self.connection);
    visit(2, "uid", self.uid);
    visit(3, "gid", self.gid);
    visit(4, "pid", self.pid);
    visit(5, "request", self.request);
    visit(6, "closed", self.closed);
  }
};

struct Response {
  std::uint64_t number = 0;
  bool ok = true;
  ErrorCode code = ErrorCode::kInvalid;  // When not ok.
  std::string error;                     // One line: what, where, why, next step.
  Seq seq;                               // Journal sequence this answer stands on.
  std::uint32_t retry_after_ms = 0;      // With kLimit or kUnavailable: when to try again.
  bool more = false;                     // Another response with this number follows (watch, large lists).
  std::string body;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "number", self.number);
    visit(2, "ok", self.ok);
    visit(3, "code", self.code);
    visit(4, "error", self.error);
    visit(5, "seq", self.seq);
    visit(6, "retry_after_ms", self.retry_after_ms);
    visit(7, "more", self.more);
    visit(8, "body", self.body);
  }
};

struct StampedResponse {
  std::uint64_t connection = 0;
  bool close = false;    // The controller gives this client up.
  std::string response;  // Encoded Response.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "connection", self.connection);
    visit(2, "close", self.close);
    visit(3, "response", self.response);
  }
};

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
// All or none; at most kBulkJobsMax jobs. Environments are "KEY=VALUE\0" strings one after the other.
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
// Also the answer of every verb that changes jobs or nodes.
struct ChangeReply {
  std::vector<JobId> jobs;         // In order of the request.
  std::vector<std::string> notes;  // Warnings, one line each.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "notes", self.notes);
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
  std::int32_t signal = 0;  // For cancel: send this instead of ending the job.
  std::optional<Duration> time_limit;  // For set, with the following.
  std::optional<std::string> queue;
  std::optional<std::string> account;
  std::optional<std::int32_t> priority;
  std::optional<std::string> name;
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
  }
};

// ---- reads ----
enum class JobState : std::uint8_t { kHeld, kPending, kStarting, kRunning, kStopping, kEnded };
template <>
struct EnumNames<JobState> {
  static constexpr std::array<std::string_view, 6> kNames{"held", "pending", "starting", "running", "stopping", "ended"};
};

struct JobsBody {
  std::vector<JobChoice> jobs;
  std::vector<std::string> users;   // Empty: everybody the caller may see.
  std::vector<std::string> queues;
  std::vector<std::string> names;
  std::vector<JobState> states;     // Empty: all that have not ended.
  bool include_ended = false;       // Those still in memory.
  JobId after;                      // Rows with larger ids only: for paging.
  std::uint32_t rows_max = 0;       // 0: no limit but the server's.
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
  }
};

// One line of a list: a plain job, one touched element of an array, or the untouched rest of it (elements set).
struct JobRow {
  JobId job;
  Element element;
  std::string elements;  // "0-99:1" text of the ranges this row stands for; empty for one element or a plain job.
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
  AttemptNo attempt;       // Current or last; 0: none yet.
  std::string node_list;   // Host list of the current or last attempt.
  std::int32_t priority = 0;
  Duration time_limit;
  WallTime submitted;
  WallTime started;        // Of the current or last attempt; 0: none.
  WallTime ended;
  std::int32_t exit_status = 0;
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
  LaunchSpec launch;      // Only for its owner, operators and admins.
  std::vector<MemberRow> members;
  std::optional<Cause> cause;
  std::string why;        // The sentence of an explanation, while it waits.
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
  std::string reason;    // Name of a WaitReason, or the job's state.
  std::string sentence;
  std::uint32_t nodes_total = 0;
  std::uint32_t nodes_fit = 0;
  std::uint32_t nodes_needed = 0;
  std::vector<WhyBlocker> blockers;
  std::uint32_t jobs_ahead = 0;
  std::string frees_last;  // "17.0.1"; empty: none.
  WallTime start_latest;   // 0: unknown.
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
  }
};

// watch: body JobsBody; first response holds the rows that match now, each later one (more = true) those that changed.
// A row that no longer matches comes once more in its last state. reset: forget all rows before this (slow reader).
struct WatchReply {
  bool reset = false;
  std::vector<JobRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "reset", self.reset);
    visit(2, "rows", self.rows);
  }
};

struct DeviceRow {
  GpuFacts facts;
  std::uint32_t milli_used = 0;
  std::vector<std::string> holders;  // "17" or "17_3"; with the user: "17 (kim)".
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "facts", self.facts);
    visit(2, "milli_used", self.milli_used);
    visit(3, "holders", self.holders);
  }
};
struct NodeRow {
  std::string name;
  std::string state;   // NodeState's name; "unreported" before its first hello.
  std::string reason;
  bool connected = false;
  std::uint32_t cpus = 0;
  std::uint32_t cpus_used = 0;
  std::uint64_t memory_mib = 0;
  std::uint64_t memory_mib_used = 0;
  std::vector<DeviceRow> gpus;
  std::vector<std::string> features;
  std::string address;
  std::string release;
  std::string boot_id;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "state", self.state);
    visit(3, "reason", self.reason);
    visit(4, "connected", self.connected);
    visit(5, "cpus", self.cpus);
    visit(6, "cpus_used", self.cpus_used);
    visit(7, "memory_mib", self.memory_mib);
    visit(8, "memory_mib_used", self.memory_mib_used);
    visit(9, "gpus", self.gpus);
    visit(10, "features", self.features);
    visit(11, "address", self.address);
    visit(12, "release", self.release);
    visit(13, "boot_id", self.boot_id);
  }
};
struct NodesBody {
  std::vector<std::string> nodes;  // Empty: all.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes", self.nodes);
  }
};
struct NodesReply {
  std::vector<NodeRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

struct QueueRow {
  std::string name;
  bool is_default = false;
  bool open = true;
  std::int32_t priority = 0;
  Duration time_default;
  Duration time_max;
  std::uint32_t nodes = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_used = 0;
  std::uint64_t jobs_pending = 0;
  std::uint64_t jobs_running = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "is_default", self.is_default);
    visit(3, "open", self.open);
    visit(4, "priority", self.priority);
    visit(5, "time_default", self.time_default);
    visit(6, "time_max", self.time_max);
    visit(7, "nodes", self.nodes);
    visit(8, "gpus", self.gpus);
    visit(9, "gpus_used", self.gpus_used);
    visit(10, "jobs_pending", self.jobs_pending);
    visit(11, "jobs_running", self.jobs_running);
  }
};
struct QueuesReply {
  std::vector<QueueRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};
struct AccountRow {
  std::string name;
  std::string parent;
  std::vector<std::string> users;
  bool is_default = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "parent", self.parent);
    visit(3, "users", self.users);
    visit(4, "is_default", self.is_default);
  }
};
struct AccountsReply {
  std::vector<AccountRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

// status and ping (ping leaves all but release and cluster at their defaults).
struct StatusReply {
  std::string cluster;
  std::string release;
  Epoch epoch;
  Seq seq;             // Durable.
  std::uint64_t config_version = 0;
  WallTime started;
  std::string role;    // The caller's.
  std::uint32_t nodes = 0;
  std::uint32_t nodes_connected = 0;
  std::uint64_t jobs_pending = 0;
  std::uint64_t jobs_running = 0;
  bool database_connected = false;
  Seq database_seq;    // What PostgreSQL has.
  std::string database_error;
  std::uint64_t memory_kib = 0;  // Resident set of the controller.
  bool disk_full = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "cluster", self.cluster);
    visit(2, "release", self.release);
    visit(3, "epoch", self.epoch);
    visit(4, "seq", self.seq);
    visit(5, "config_version", self.config_version);
    visit(6, "started", self.started);
    visit(7, "role", self.role);
    visit(8, "nodes", self.nodes);
    visit(9, "nodes_connected", self.nodes_connected);
    visit(10, "jobs_pending", self.jobs_pending);
    visit(11, "jobs_running", self.jobs_running);
    visit(12, "database_connected", self.database_connected);
    visit(13, "database_seq", self.database_seq);
    visit(14, "database_error", self.database_error);
    visit(15, "memory_kib", self.memory_kib);
    visit(16, "disk_full", self.disk_full);
  }
};

// ---- logs: relayed by the controller's bulk port between gateway and worker; never through the engine ----
struct LogOpenBody {
  JobChoice job;
  std::uint32_t attempt = 0;  // 0: the current or last.
  std::int32_t rank = -1;     // -1: the file of the first node (what --output names).
  std::string node;           // With rank -1: this node's file.
  bool errors = false;        // The --error stream, when it is its own.
  std::uint64_t offset = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "attempt", self.attempt);
    visit(3, "rank", self.rank);
    visit(4, "node", self.node);
    visit(5, "errors", self.errors);
    visit(6, "offset", self.offset);
  }
};
struct LogOpenReply {
  std::uint64_t handle = 0;
  std::string node;
  std::string path;      // Where the bytes lie on that node; for people.
  AttemptKey key;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "handle", self.handle);
    visit(2, "node", self.node);
    visit(3, "path", self.path);
    visit(4, "key", self.key);
  }
};
struct LogReadBody {
  std::uint64_t handle = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes_max = 0;  // At most kLogReadBytesMax.
  std::uint32_t wait_ms = 0;    // At the end of the file of a running attempt: how long to wait for more.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "handle", self.handle);
    visit(2, "offset", self.offset);
    visit(3, "bytes_max", self.bytes_max);
    visit(4, "wait_ms", self.wait_ms);
  }
};
constexpr std::uint32_t kLogReadBytesMax = 192U << 10U;
struct LogReadReply {
  std::uint64_t offset = 0;
  std::string data;
  bool end = false;  // The attempt has ended on that node and this is all.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "offset", self.offset);
    visit(2, "data", self.data);
    visit(3, "end", self.end);
  }
};
struct LogCloseBody {
  std::uint64_t handle = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "handle", self.handle);
  }
};

// ---- administration ----
struct NodeAddBody {
  std::string node;
  std::string public_key;  // Z85; empty: make a one-time join token instead.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "public_key", self.public_key);
  }
};
struct NodeAddReply {
  std::string token;    // Empty when a key was given.
  std::string command;  // To type on the node.
  std::uint32_t valid_seconds = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "token", self.token);
    visit(2, "command", self.command);
    visit(3, "valid_seconds", self.valid_seconds);
  }
};
struct NodeChangeBody {
  std::vector<std::string> nodes;
  std::string reason;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes", self.nodes);
    visit(2, "reason", self.reason);
  }
};

}  // namespace muster
