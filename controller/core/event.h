// Past facts: what the journal holds and what apply() changes memory by. Outcomes, never commands.
// A released event gains fields at most (absent: as before). SQL rows follow from events alone.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/resources.h"
#include "controller/core/config.h"
#include "controller/core/estimate_event.h"
#include "controller/core/event_attempt.h"
#include "controller/core/freed_room.h"
#include "controller/core/reservation.h"
#include "controller/core/usage_event.h"

namespace muster {

// The first durable record after every start: nothing is answered or sent before it.
struct EpochBegun {
  static constexpr int kType = 1;
  static constexpr std::string_view kName = "EpochBegun";
  Epoch epoch;
  std::string cluster_id;
  std::string boot_id;
  std::string release;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "epoch", self.epoch);
    visit(2, "cluster_id", self.cluster_id);
    visit(3, "boot_id", self.boot_id);
    visit(4, "release", self.release);
  }
};

struct ConfigApplied {
  static constexpr int kType = 2;
  static constexpr std::string_view kName = "ConfigApplied";
  ClusterConfig config;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "config", self.config);
    visit(2, "by", self.by);
  }
};

struct NodeEnrolled {
  static constexpr int kType = 3;
  static constexpr std::string_view kName = "NodeEnrolled";
  NodeId node;
  std::string name;
  std::string public_key;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "name", self.name);
    visit(3, "public_key", self.public_key);
    visit(4, "by", self.by);
  }
};

// The node's inventory or boot id is new. device_ids is parallel to inventory.gpus; a UUID keeps
// its id for ever.
struct NodeReported {
  static constexpr int kType = 4;
  static constexpr std::string_view kName = "NodeReported";
  NodeId node;
  std::string boot_id;
  Inventory inventory;
  std::vector<DeviceId> device_ids;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "boot_id", self.boot_id);
    visit(3, "inventory", self.inventory);
    visit(4, "device_ids", self.device_ids);
  }
};

enum class NodeState : std::uint8_t { kUp, kDrained, kSuspect, kDead };
template <>
struct EnumNames<NodeState> {
  static constexpr std::array<std::string_view, 4> kNames{"up", "drained", "suspect", "dead"};
};

struct NodeStateChanged {
  static constexpr int kType = 5;
  static constexpr std::string_view kName = "NodeStateChanged";
  NodeId node;
  NodeState state = NodeState::kUp;
  std::string reason;
  std::string by;
  WallTime deadline = {};  // Of a drain: what still runs then is requeued. 0: none.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "state", self.state);
    visit(3, "reason", self.reason);
    visit(4, "by", self.by);
    visit(26, "deadline", self.deadline);
  }
};

struct NodeRemoved {
  static constexpr int kType = 6;
  static constexpr std::string_view kName = "NodeRemoved";
  NodeId node;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "by", self.by);
  }
};

struct JobSubmitted {
  static constexpr int kType = 10;
  static constexpr std::string_view kName = "JobSubmitted";
  JobId job;
  Uid uid;
  Gid gid;
  std::string user;
  std::vector<Gid> groups;
  RequestId request;
  std::uint32_t request_index = 0;  // Which job of the request.
  JobSpec spec;                     // Completed: queue, account, name, time limit are never empty.
  std::string launch;
  BlobRef script;
  BlobRef environment;
  std::string host;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "uid", self.uid);
    visit(3, "gid", self.gid);
    visit(4, "user", self.user);
    visit(5, "groups", self.groups);
    visit(6, "request", self.request);
    visit(7, "request_index", self.request_index);
    visit(8, "spec", self.spec);
    visit(9, "launch", self.launch);
    visit(10, "script", self.script);
    visit(11, "environment", self.environment);
    visit(12, "host", self.host);
  }
};

// Elements by ranges: a verb on a whole array is one event. A plain job is the range 0-0.
struct ElementsHeld {
  static constexpr int kType = 11;
  static constexpr std::string_view kName = "ElementsHeld";
  JobId job;
  std::vector<IndexRange> elements;  // Empty: what is held already is an operator's hold from now.
  std::string by;
  bool by_operator = false;  // Then only an operator releases the job.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "elements", self.elements);
    visit(3, "by", self.by);
    visit(4, "by_operator", self.by_operator);
  }
};
struct ElementsReleased {
  static constexpr int kType = 12;
  static constexpr std::string_view kName = "ElementsReleased";
  JobId job;
  std::vector<IndexRange> elements;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "elements", self.elements);
    visit(3, "by", self.by);
  }
};
// Elements that are over: after their last attempt, or cancelled before any.
struct ElementsEnded {
  static constexpr int kType = 13;
  static constexpr std::string_view kName = "ElementsEnded";
  JobId job;
  std::vector<IndexRange> elements;
  Cause cause;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "elements", self.elements);
    visit(3, "cause", self.cause);
  }
};
// The element is pending again, under the same id.
struct ElementRequeued {
  static constexpr int kType = 14;
  static constexpr std::string_view kName = "ElementRequeued";
  JobId job;
  Element element;
  std::vector<NodeId> nodes_avoided;  // Until the retry succeeds or no other node fits.
  Duration not_before;                // Backoff, from the event's time.
  bool hold = false;                  // Retries used up, or a person's wish.
  std::string reason;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
    visit(3, "nodes_avoided", self.nodes_avoided);
    visit(4, "not_before", self.not_before);
    visit(5, "hold", self.hold);
    visit(6, "reason", self.reason);
  }
};
struct JobChanged {
  static constexpr int kType = 15;
  static constexpr std::string_view kName = "JobChanged";
  JobId job;
  std::optional<Duration> time_limit;
  std::optional<std::string> queue;
  std::optional<std::string> account;
  std::optional<std::int32_t> priority;
  std::optional<std::string> name;
  std::optional<std::int64_t> top;  // Order among the user's own pending jobs; higher is earlier.
  std::string by;
  std::optional<std::string> qos = std::nullopt;
  std::optional<std::int32_t> nice = std::nullopt;
  std::optional<std::string> reservation = std::nullopt;  // Empty: none from now on.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "time_limit", self.time_limit);
    visit(3, "queue", self.queue);
    visit(4, "account", self.account);
    visit(5, "priority", self.priority);
    visit(6, "name", self.name);
    visit(7, "top", self.top);
    visit(8, "by", self.by);
    visit(20, "qos", self.qos);
    visit(21, "nice", self.nice);
    visit(26, "reservation", self.reservation);
  }
};
// The job leaves memory: SQL has it.
struct JobForgotten {
  static constexpr int kType = 16;
  static constexpr std::string_view kName = "JobForgotten";
  JobId job;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
  }
};

// The last record of a segment: the compactor compares its own digest.
struct SegmentSealed {
  static constexpr int kType = 30;
  static constexpr std::string_view kName = "SegmentSealed";
  Seq seq;
  std::uint64_t digest = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "seq", self.seq);
    visit(2, "digest", self.digest);
  }
};

// Elements whose dependencies and begin time let them stand in line from now.
struct ElementsReady {
  static constexpr int kType = 40;
  static constexpr std::string_view kName = "ElementsReady";
  JobId job;
  std::vector<IndexRange> elements;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "elements", self.elements);
  }
};
// What is given replaces what the job waited for; an empty list or time takes it away. The elements
// named stood in line and wait from now.
struct GateChanged {
  static constexpr int kType = 41;
  static constexpr std::string_view kName = "GateChanged";
  JobId job;
  std::optional<Depends> depends;
  std::optional<WallTime> begin;
  std::optional<WallTime> deadline;
  std::vector<IndexRange> elements;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "depends", self.depends);
    visit(3, "begin", self.begin);
    visit(4, "deadline", self.deadline);
    visit(5, "elements", self.elements);
    visit(6, "by", self.by);
  }
};
struct ArrayThrottled {
  static constexpr int kType = 42;
  static constexpr std::string_view kName = "ArrayThrottled";
  JobId job;
  std::uint32_t running_max = 0;  // 0: no limit.
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "running_max", self.running_max);
    visit(3, "by", self.by);
  }
};
// There is such a reservation from now on, in the place of one of the same name.
struct ReservationSet {
  static constexpr int kType = 50;
  static constexpr std::string_view kName = "ReservationSet";
  Reservation reservation;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "reservation", self.reservation);
  }
};
// By a person, or because it is over.
struct ReservationRemoved {
  static constexpr int kType = 51;
  static constexpr std::string_view kName = "ReservationRemoved";
  std::string reservation;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "reservation", self.reservation);
    visit(2, "by", self.by);
  }
};

using Event =
    std::variant<EpochBegun, ConfigApplied, NodeEnrolled, NodeReported, NodeStateChanged,
                 NodeRemoved, JobSubmitted, ElementsHeld, ElementsReleased, ElementsEnded,
                 ElementRequeued, JobChanged, JobForgotten, AttemptStarted, AttemptLaunched,
                 AttemptStopping, MemberEnded, AttemptEnded, SegmentSealed, ElementsReady,
                 GateChanged, ArrayThrottled, ReservationSet, ReservationRemoved, StartsEstimated,
                 UsageSet, RoomFreed, BoardRebuilt>;

// All events of one command, atomic. Rows in SQL are keyed (cluster, seq, ordinal in events).
struct Record {
  Seq seq;
  Epoch epoch;
  Instant at;     // Engine time.
  WallTime wall;  // A label.
  std::vector<Event> events;
};

}  // namespace muster
