// What the engine can be asked to do. Imperative; never journalled. Bytes that core does not need
// (scripts, environments, launch details) arrive as references or opaque strings.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/reservation_spec.h"
#include "base/types/resources.h"
#include "controller/core/config.h"
#include "controller/core/usage.h"

namespace muster {

enum class Role : std::uint8_t { kUser, kOperator, kAdmin };
template <>
struct EnumNames<Role> {
  static constexpr std::array<std::string_view, 3> kNames{"user", "operator", "admin"};
};

// Who asks; established by the gateway's kernel and the controller's configuration, never by the
// client.
struct Requester {
  Uid uid;
  Gid gid;
  std::string user;  // Name of uid, resolved at the controller.
  Role role = Role::kUser;
  std::string host;  // The gateway it came through.
};

struct NewJob {
  JobSpec spec;
  std::string launch;  // Encoded LaunchSpec: opaque here.
  BlobRef script;
  BlobRef environment;
  std::vector<Gid> groups;  // Of the user, resolved once by the controller.
};

// All or none. A repeated request id answers with the ids of the first time.
struct SubmitJobs {
  Requester who;
  RequestId request;
  std::vector<NewJob> jobs;
  bool dry_run = false;
};

// Which jobs a verb means. Empty lists mean "no restriction"; at least one list or `all_mine` must
// be given.
struct JobSelection {
  std::vector<ElementKey> elements;  // Element only counts when element_given.
  std::vector<bool> element_given;   // Parallel to elements.
  std::vector<std::string> names;
  std::vector<std::string> users;
  std::vector<std::string> queues;
  bool all_mine = false;
};

struct CancelJobs {
  Requester who;
  JobSelection which;
  std::int32_t signal =
      0;  // 0: end the job; otherwise send this signal to its tasks and leave it be.
};
struct HoldJobs {
  Requester who;
  JobSelection which;
};
struct ReleaseJobs {
  Requester who;
  JobSelection which;
};
struct RequeueJobs {
  Requester who;
  JobSelection which;
};
struct TopJobs {
  Requester who;
  JobSelection which;
};  // To the head of the requester's own pending jobs.
struct SetJobs {
  Requester who;
  JobSelection which;
  std::optional<Duration> time_limit;
  std::optional<std::string> queue;
  std::optional<std::string> account;
  std::optional<std::int32_t> priority;
  std::optional<std::string> name;
  std::optional<std::string> qos = std::nullopt;  // Empty: none.
  std::optional<std::int32_t> nice = std::nullopt;
  std::optional<Depends> depends;  // Without conditions: none from now.
  std::optional<WallTime> begin;   // 0: none.
  std::optional<WallTime> deadline;
  std::optional<std::uint32_t> throttle;  // Elements of an array at once; 0: no limit.
  std::optional<std::string> reservation = std::nullopt;  // Empty: none from now on.
};

struct SetReservation {
  Requester who;
  std::string name;
  bool is_new = false;  // Else one of that name must exist, and keeps what is not given.
  ReservationSpec spec;
};
struct RemoveReservation {
  Requester who;
  std::string name;
};

struct UsedBefore {
  UsageKey key;
  std::uint64_t gpu_seconds = 0;  // Weighted by GPU type, decayed up to now.
};
// In the place of what these used before. All or nothing.
struct SetUsage {
  Requester who;
  std::vector<UsedBefore> lines;
};

enum class NodeVerb : std::uint8_t { kDrain, kResume, kRemove, kConfirmDead };
struct ChangeNodes {
  Requester who;
  NodeVerb verb = NodeVerb::kDrain;
  std::vector<std::string> nodes;
  std::string reason;
  WallTime deadline = {};  // Of a drain: what still runs then is requeued. 0: none.
};
// A node's transport key became known (by join token or by an administrator's file).
struct EnrolNode {
  Requester who;
  std::string node;
  std::string public_key;  // Z85, 40 characters.
};
enum class ConfigSource : std::uint8_t {
  kFile,       // Read again: what gpuadmin set at run time stays.
  kStart,      // The same at the start, when removing what jobs use is no reason to stay away.
  kFileAlone,  // The file as it is: what gpuadmin set is undone.
  kObjects,    // Made from the one with version `based_on` by a change of one object.
};
struct ApplyConfig {
  Requester who;
  ClusterConfig config;
  ConfigSource source = ConfigSource::kFile;
  std::uint64_t based_on = 0;
};

// ---- from workers; node is the authenticated one ----
enum class AttemptPhase : std::uint8_t {
  kUnknown,
  kPreparing,
  kPrepared,
  kRunning,
  kStopping,
  kEnded
};
template <>
struct EnumNames<AttemptPhase> {
  static constexpr std::array<std::string_view, 6> kNames{"unknown", "preparing", "prepared",
                                                          "running", "stopping",  "ended"};
};

// What a worker says of one attempt. kEnded carries the exit record; kPrepared the ports.
struct AttemptReport {
  AttemptKey key;
  AttemptPhase phase = AttemptPhase::kUnknown;
  Epoch epoch;  // Of the order it acts on.
  std::vector<std::uint16_t> ports;
  std::optional<ExitRecord> record;
};
struct WorkerHello {
  std::string node;
  std::string boot_id;
  std::uint64_t incarnation = 0;  // Of the worker process.
  Inventory inventory;
  std::vector<AttemptReport> attempts;  // All of them: what is not listed is not there.
};
struct WorkerReport {
  std::string node;
  std::vector<AttemptReport> attempts;
};
struct WorkerInventory {
  std::string node;
  Inventory inventory;
};
struct WorkerHeard {
  std::string node;
};  // A heartbeat: changes Liveness only.
struct WorkerLost {
  std::string node;
};  // The connection broke; the node is not yet suspect.

// ---- from the clockwork ----
struct PassBudget {
  std::uint32_t shapes_max = 256;      // Distinct requests tried, not jobs.
  std::uint32_t placements_max = 512;  // Keeps one step short; the next pass continues.
};
struct SchedulePass {
  PassBudget budget;
};
// One slice of looking ahead: when pending jobs are likely to start. Changes nothing else.
struct EstimateStarts {
  std::uint64_t work_max = 4000;  // Looks at nodes, about.
  bool anew = false;              // Begin now, whether it is due or not.
};
struct Tick {};  // Deadlines, leases, suspicion, forgetting: called at least once a second.
// SQL has every record up to this one: ended jobs up to there may be forgotten.
struct FeedReached {
  Seq seq;
};
// The next record closes its segment: answers with a record that holds SegmentSealed{its own seq,
// digest} alone.
struct SealSegment {};
// What is remembered beside the cluster is made anew: what is decided after its record follows from
// a dump that ends with it.
struct RebuildBoard {
  Requester who;
};
struct BeginEpoch {
  Epoch epoch;
  std::string cluster_id;
  std::string boot_id;
  std::string release;
};

using Command =
    std::variant<SubmitJobs, CancelJobs, HoldJobs, ReleaseJobs, RequeueJobs, TopJobs, SetJobs,
                 ChangeNodes, EnrolNode, ApplyConfig, WorkerHello, WorkerReport, WorkerInventory,
                 WorkerHeard, WorkerLost, SchedulePass, Tick, BeginEpoch, FeedReached, SealSegment,
                 SetReservation, RemoveReservation, EstimateStarts, SetUsage, RebuildBoard>;

}  // namespace muster
