// A cluster as a list of plain items and back: what a snapshot holds. Items and fields obey the
// rules of base/types/fields.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/result.h"
#include "controller/core/cluster.h"

namespace muster {

constexpr std::size_t kTouchedPerItemMax = 1000;

struct ImageHead {
  static constexpr int kType = 1;
  Epoch epoch;
  std::string cluster_id;
  Instant applied_at;
  WallTime wall;  // Label of the last record.
  JobId job_next;
  NodeId node_next;
  ClusterConfig config;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "epoch", self.epoch);
    visit(2, "cluster_id", self.cluster_id);
    visit(3, "applied_at", self.applied_at);
    visit(4, "wall", self.wall);
    visit(5, "job_next", self.job_next);
    visit(6, "node_next", self.node_next);
    visit(7, "config", self.config);
  }
};

struct ImageNode {
  static constexpr int kType = 2;
  Node node;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
  }
};

struct ImageDevice {
  static constexpr int kType = 3;
  DeviceId id;
  std::string uuid;
  NodeId node;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "id", self.id);
    visit(2, "uuid", self.uuid);
    visit(3, "node", self.node);
  }
};

// Numbered from 0 in the order of the items; jobs name the number.
struct ImageOwner {
  static constexpr int kType = 4;
  JobOwner owner;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "owner", self.owner);
  }
};
struct ImageTerms {
  static constexpr int kType = 5;
  JobTerms terms;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "terms", self.terms);
  }
};

struct ImageSpan {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  ElementState state = ElementState::kPending;
  std::optional<Ending> ending;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "first", self.first);
    visit(2, "last", self.last);
    visit(3, "state", self.state);
    visit(4, "ending", self.ending);
  }
};

struct ImageJob {
  static constexpr int kType = 6;
  JobId id;
  RequestId request;
  std::uint32_t request_index = 0;
  std::string name;
  std::uint32_t owner = 0;
  std::uint32_t terms = 0;
  std::string launch;
  BlobRef script;
  BlobRef environment;
  Instant submitted_at;
  WallTime submitted_wall;
  std::int64_t top = 0;
  std::vector<ImageSpan> spans;
  Seq ended_seq;
  Instant ended_at;
  bool held_by_operator = false;
  std::optional<JobGate> gate;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "id", self.id);
    visit(2, "request", self.request);
    visit(3, "request_index", self.request_index);
    visit(4, "name", self.name);
    visit(5, "owner", self.owner);
    visit(6, "terms", self.terms);
    visit(7, "launch", self.launch);
    visit(8, "script", self.script);
    visit(9, "environment", self.environment);
    visit(10, "submitted_at", self.submitted_at);
    visit(11, "submitted_wall", self.submitted_wall);
    visit(12, "top", self.top);
    visit(13, "spans", self.spans);
    visit(14, "ended_seq", self.ended_seq);
    visit(15, "ended_at", self.ended_at);
    visit(16, "held_by_operator", self.held_by_operator);
    visit(40, "gate", self.gate);
  }
};

struct ImageRecord {
  Element element;
  ElementState state = ElementState::kPending;
  std::uint32_t attempts = 0;
  std::uint32_t retries = 0;
  Instant not_before;
  std::vector<NodeId> nodes_avoided;
  std::string reason;
  std::optional<AttemptSummary> last;
  std::optional<Ending> ending;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "element", self.element);
    visit(2, "state", self.state);
    visit(3, "attempts", self.attempts);
    visit(4, "retries", self.retries);
    visit(5, "not_before", self.not_before);
    visit(6, "nodes_avoided", self.nodes_avoided);
    visit(7, "reason", self.reason);
    visit(8, "last", self.last);
    visit(9, "ending", self.ending);
  }
};

// Follows its job; as many as needed.
struct ImageTouched {
  static constexpr int kType = 7;
  JobId job;
  std::vector<ImageRecord> records;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "records", self.records);
  }
};

// One of an array's elements that ended; kind is a place in the item's own list.
struct ImageEnded {
  Element element;
  std::uint32_t kind = 0;
  Instant at;
  WallTime wall;
  WallTime launched_wall;
  Duration charged;
  std::uint32_t attempts = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "element", self.element);
    visit(2, "kind", self.kind);
    visit(3, "at", self.at);
    visit(4, "wall", self.wall);
    visit(5, "launched_wall", self.launched_wall);
    visit(6, "charged", self.charged);
    visit(7, "attempts", self.attempts);
  }
};

// Follows its job; as many as needed.
struct ImageEndedElements {
  static constexpr int kType = 40;
  JobId job;
  std::vector<EndKind> kinds;
  std::vector<ImageEnded> elements;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "kinds", self.kinds);
    visit(3, "elements", self.elements);
  }
};

struct ImageEnd {
  NodeId node;
  ExitRecord record;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "record", self.record);
  }
};

struct ImageAttempt {
  static constexpr int kType = 8;
  AttemptKey key;
  Place place;
  AttemptState state = AttemptState::kPreparing;
  Instant started_at;
  WallTime started_wall;
  Instant launched_at;
  WallTime launched_wall;
  bool launched = false;
  std::string master_address;
  std::vector<std::uint16_t> ports;
  std::optional<Cause> stopping;
  bool requeue = false;
  std::vector<ImageEnd> ends;
  bool limit_lowered = false;
  Instant stopping_at;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "place", self.place);
    visit(3, "state", self.state);
    visit(4, "started_at", self.started_at);
    visit(5, "started_wall", self.started_wall);
    visit(6, "launched_at", self.launched_at);
    visit(7, "launched_wall", self.launched_wall);
    visit(8, "launched", self.launched);
    visit(9, "master_address", self.master_address);
    visit(10, "ports", self.ports);
    visit(11, "stopping", self.stopping);
    visit(12, "requeue", self.requeue);
    visit(13, "ends", self.ends);
    visit(14, "limit_lowered", self.limit_lowered);
    visit(15, "stopping_at", self.stopping_at);
  }
};

struct ImageRequest {
  static constexpr int kType = 9;
  RequestId id;
  JobId first;
  std::uint32_t count = 0;
  Instant at;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "id", self.id);
    visit(2, "first", self.first);
    visit(3, "count", self.count);
    visit(4, "at", self.at);
  }
};

struct ImageForgotten {
  static constexpr int kType = 10;
  JobId first;
  JobId last;
  CauseKind kind = CauseKind::kCompleted;
  std::int64_t hour = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "first", self.first);
    visit(2, "last", self.last);
    visit(3, "kind", self.kind);
    visit(4, "hour", self.hour);
  }
};

struct ImageBucket {
  std::int64_t hour = 0;
  std::uint64_t amount = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "hour", self.hour);
    visit(2, "amount", self.amount);
  }
};

struct ImageUsage {
  static constexpr int kType = 11;
  std::string account;
  Uid uid;
  std::vector<ImageBucket> buckets;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "account", self.account);
    visit(2, "uid", self.uid);
    visit(3, "buckets", self.buckets);
  }
};

// Bins up to the last that is not 0.
struct ImageRunTimes {
  static constexpr int kType = 28;
  Likeness likeness;
  std::vector<std::uint32_t> ended;
  std::vector<std::uint32_t> left;
  Seq taught;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "likeness", self.likeness);
    visit(2, "ended", self.ended);
    visit(3, "left", self.left);
    visit(4, "taught", self.taught);
  }
};

struct ImageReservation {
  static constexpr int kType = 50;
  Reservation reservation;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "reservation", self.reservation);
  }
};
// What was said of a start.
struct ImagePromise {
  static constexpr int kType = 66;
  JobId job;
  Instant half;
  Instant most;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "half", self.half);
    visit(3, "most", self.most);
  }
};

// How estimates of starts came out on one day. Bins up to the last that is not 0.
struct ImageEstimates {
  static constexpr int kType = 67;
  std::int64_t day = 0;
  std::string queue;
  std::uint32_t half_held = 0;
  std::uint32_t most_held = 0;
  std::vector<std::uint32_t> early;
  std::vector<std::uint32_t> late;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "day", self.day);
    visit(2, "queue", self.queue);
    visit(3, "half_held", self.half_held);
    visit(4, "most_held", self.most_held);
    visit(5, "early", self.early);
    visit(6, "late", self.late);
  }
};

struct ImageRoom {
  static constexpr int kType = 80;
  FreedRoom room;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "room", self.room);
  }
};

using ImageItem =
    std::variant<ImageHead, ImageNode, ImageDevice, ImageOwner, ImageTerms, ImageJob, ImageTouched,
                 ImageAttempt, ImageRequest, ImageForgotten, ImageUsage, ImageRunTimes,
                 ImageEndedElements, ImageReservation, ImagePromise, ImageEstimates, ImageRoom>;

class ClusterImage {
 public:
  using Sink = std::function<void(const ImageItem&)>;
  static void take_apart(const Cluster& cluster, WallTime wall, const Sink& sink);

  // Puts together what take_apart() gave, in its order. kCorrupt when the items make no sense.
  Result<void> add(ImageItem item);
  WallTime wall() const { return wall_; }
  // kCorrupt when the digest, counted anew over everything, is another. Once, at the end.
  Result<Cluster> finish(std::uint64_t digest);

 private:
  friend struct ImageBuilder;
  Cluster cluster_;
  WallTime wall_;
  std::vector<JobOwner> owners_;
  std::vector<JobTerms> terms_;
};

}  // namespace muster
