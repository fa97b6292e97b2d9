// A job in memory: what was asked (immutable, shared with readers in other threads) and where its
// elements stand.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/resources.h"
#include "base/types/time.h"
#include "controller/core/element_table.h"

namespace muster {

// Who submitted. One object for all jobs that came from the same login.
struct JobOwner {
  Uid uid;
  Gid gid;
  std::string user;
  std::vector<Gid> gids;
  std::string host;
  auto operator<=>(const JobOwner&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "uid", self.uid);
    visit(2, "gid", self.gid);
    visit(3, "user", self.user);
    visit(4, "gids", self.gids);
    visit(5, "host", self.host);
  }
};

// What scheduling looks at: the spec without its name. One object for all jobs that ask for the
// same.
struct JobTerms {
  std::string queue;
  std::string account;
  std::vector<Group> groups;
  Duration time_limit;
  std::int32_t priority = 0;
  bool requeue = true;
  std::uint32_t ports = 0;
  ArraySpec array;  // Disjoint ranges in rising order; empty for a plain job.
  bool first_node_only = false;
  std::vector<LicenceCount> licences;
  TopologyWish topology;
  std::string qos;
  std::int32_t nice = 0;
  std::string reservation;  // Empty: none.
  auto operator<=>(const JobTerms&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "queue", self.queue);
    visit(2, "account", self.account);
    visit(3, "groups", self.groups);
    visit(4, "time_limit", self.time_limit);
    visit(5, "priority", self.priority);
    visit(6, "requeue", self.requeue);
    visit(7, "ports", self.ports);
    visit(8, "array", self.array);
    visit(9, "first_node_only", self.first_node_only);
    visit(16, "licences", self.licences);
    visit(17, "topology", self.topology);
    visit(20, "qos", self.qos);
    visit(21, "nice", self.nice);
    visit(26, "reservation", self.reservation);
  }
};

JobTerms terms_of(const JobSpec& spec);

// What a job waits for beside its turn. Its own, not a part of the terms: jobs that ask for the
// same share their terms and wait for different jobs.
struct JobGate {
  Depends depends;
  WallTime begin;     // 0: none.
  WallTime deadline;  // 0: none.
  auto operator<=>(const JobGate&) const = default;
  bool empty() const { return *this == JobGate{}; }
  // Whether its elements wait at all before they stand in line.
  bool waits() const { return !depends.conditions.empty() || begin.us != 0; }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "depends", self.depends);
    visit(2, "begin", self.begin);
    visit(3, "deadline", self.deadline);
  }
};
JobGate gate_of(const JobSpec& spec);

// Immutable. A change to a job (JobChanged) puts a new object in its place, so readers may keep the
// old one.
struct JobFacts {
  JobId id;
  RequestId request;
  std::uint32_t request_index = 0;
  std::string name;
  std::shared_ptr<const JobOwner> owner;  // Never null.
  std::shared_ptr<const JobTerms> terms;  // Never null.
  std::shared_ptr<const JobGate> gate;    // Null: nothing to wait for.
  std::string launch;                     // Encoded LaunchSpec.
  BlobRef script;
  BlobRef environment;
  Instant submitted_at;
  WallTime submitted_wall;

  Uid uid() const { return owner->uid; }
  Gid gid() const { return owner->gid; }
  const std::string& user() const { return owner->user; }
  const std::vector<Gid>& gids() const { return owner->gids; }
  const std::string& host() const { return owner->host; }
  const std::string& queue() const { return terms->queue; }
  const std::string& account() const { return terms->account; }
  const std::vector<Group>& groups() const { return terms->groups; }
  Duration time_limit() const { return terms->time_limit; }
  std::int32_t priority() const { return terms->priority; }
  const std::string& qos() const { return terms->qos; }
  std::int32_t nice() const { return terms->nice; }
  bool is_array() const { return !terms->array.ranges.empty(); }
  JobSpec spec() const;  // Put together again; hold is false (the elements' states tell).
};

// kWaiting: has its turn only once the job's gate lets it through.
enum class ElementState : std::uint8_t { kHeld, kPending, kActive, kEnded, kWaiting };
template <>
struct EnumNames<ElementState> {
  static constexpr std::array<std::string_view, 5> kNames{"held", "pending", "active", "ended",
                                                          "waiting"};
};
constexpr std::size_t kElementStates = 5;

// How an element ended. Shared: a cancelled array has one for all its elements.
struct Ending {
  Cause cause;
  Instant at;
  WallTime wall;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "cause", self.cause);
    visit(2, "at", self.at);
    visit(3, "wall", self.wall);
  }
};

// The latest attempt that is over: what a reader of the queue or of a log still asks for.
struct AttemptSummary {
  AttemptNo attempt;
  Cause cause;
  std::vector<NodeId> nodes;  // In rank order.
  WallTime started_wall;
  WallTime launched_wall;  // 0: never launched.
  WallTime ended_wall;
  Duration charged;
  Duration charged_before;  // Of the attempts before it, in all.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "attempt", self.attempt);
    visit(2, "cause", self.cause);
    visit(3, "nodes", self.nodes);
    visit(4, "started_wall", self.started_wall);
    visit(5, "launched_wall", self.launched_wall);
    visit(6, "ended_wall", self.ended_wall);
    visit(7, "charged", self.charged);
    visit(45, "charged_before", self.charged_before);
  }
};

// Untouched elements (no attempt yet) of one state, by ordinal: the position in the array's own
// order.
struct ElementSpan {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  ElementState state = ElementState::kPending;
  std::shared_ptr<const Ending> ending;  // Not null exactly when ended.
};

// The elements of an array numbered 0…n-1, whatever their indices are. A plain job has one: element
// 0.
std::uint32_t elements_total(const ArraySpec& array);
std::optional<std::uint32_t> ordinal_of(const ArraySpec& array, Element element);
Element element_at(const ArraySpec& array,
                   std::uint32_t ordinal);  // ordinal must be < elements_total.
// The elements at first…last, as ranges of indices.
std::vector<IndexRange> ranges_of(const ArraySpec& array, std::uint32_t first, std::uint32_t last);

// One object for all elements that ended alike, while they are not too many kinds.
class EndKinds {
 public:
  std::shared_ptr<const EndKind> take(EndKind kind);

 private:
  std::map<std::uint64_t, std::shared_ptr<const EndKind>> kinds_;
};

// What of a job changes. Read by anyone on the engine's thread, changed by Cluster::apply only.
class Job {
 public:
  Job(std::shared_ptr<const JobFacts> facts, ElementState first);
  Job(const Job& other);  // For readers; on the engine's thread.
  Job(Job&&) noexcept = default;
  Job& operator=(Job&&) noexcept = default;

  const JobFacts& facts() const { return *facts_; }
  const std::shared_ptr<const JobFacts>& facts_shared() const { return facts_; }
  std::int64_t top() const { return top_; }  // Among its owner's own jobs: higher is earlier.
  // What of it is held, an operator holds: only an operator releases it.
  bool is_held_by_operator() const { return held_by_operator_; }
  Seq ended_seq() const {
    return detail_ ? detail_->ended_seq : Seq{};
  }  // 0 while any element is not ended.
  Instant ended_at() const { return detail_ ? detail_->ended_at : Instant{}; }
  bool is_array() const { return facts_->is_array(); }
  bool is_ended() const { return count(ElementState::kEnded) == elements(); }

  std::uint32_t elements() const { return elements_; }
  std::uint32_t count(ElementState state) const;
  std::uint32_t completed() const { return detail_ ? detail_->completed : 0; }  // Of the ended.
  // Null when the job has no such element.
  std::optional<ElementState> state_of(Element element) const;
  // Null: never had an attempt, or ended as an element of an array.
  const ElementRecord* find_record(Element element) const;
  std::optional<Ending> find_ending(Element element) const;           // Nothing: not ended.
  std::optional<AttemptSummary> last_attempt(Element element) const;  // That is over.
  std::uint32_t attempts(Element element) const;                      // Begun so far.
  // How long its attempts that are over ran, in all; 0 for an element of an array that ended.
  Duration charged(Element element) const;
  // The lowest element in that state at or after `from`, touched or not.
  std::optional<Element> first_in(ElementState state, Element from = {}) const;
  // All elements in that state, as ranges in rising order.
  std::vector<IndexRange> ranges_in(ElementState state) const;
  // The same, of those that never had an attempt.
  std::vector<IndexRange> untouched_in(ElementState state) const;
  const ElementTable& touched() const;
  std::vector<ElementSpan> spans() const;

 private:
  friend class Cluster;
  friend class JobChange;
  friend struct ImageBuilder;
  struct Detail {
    std::vector<ElementSpan> spans;  // In rising order, neighbours differ.
    ElementTable touched;
    std::array<std::uint32_t, kElementStates> counts{};
    std::array<std::uint32_t, kElementStates> records{};  // How many of them have a record.
    std::uint32_t completed = 0;
    std::shared_ptr<EndKinds> kinds;  // Of the engine's thread only.
    Seq ended_seq;
    Instant ended_at;
  };
  Detail& detail();  // Made when first needed: a plain waiting job does without.
  std::size_t span_from(std::uint32_t ordinal) const;  // The first that does not end before it.
  const ElementSpan* find_span(std::uint32_t ordinal) const;  // Null: touched, or no detail yet.

  std::shared_ptr<const JobFacts> facts_;
  std::uint32_t elements_ = 1;
  std::int64_t top_ = 0;
  ElementState plain_ = ElementState::kPending;  // Counts while detail_ is null.
  bool held_by_operator_ = false;
  std::uint64_t digest_ = 0;  // Its part of the cluster's.
  std::unique_ptr<Detail> detail_;
};

}  // namespace muster
