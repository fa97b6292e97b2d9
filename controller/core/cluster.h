// The journalled truth: jobs, attempts, nodes, configuration. Changed by apply() only, digested
// incrementally. What is not told by events does not belong here. Reads are for the engine's
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/attempt_life.h"
#include "controller/core/config.h"
#include "controller/core/estimate_book.h"
#include "controller/core/event.h"
#include "controller/core/intern.h"
#include "controller/core/job.h"
#include "controller/core/node.h"
#include "controller/core/reservation.h"
#include "controller/core/run_times.h"
#include "controller/core/usage.h"

namespace muster {

constexpr Duration kRequestKept = hours(1);  // A retried submit is recognised for this long.
constexpr Duration kForgottenKept = days(30);
constexpr std::size_t kForgottenRunsMax = 100000;

// When, and by which record, an event happened.
struct Stamp {
  Seq seq;
  Instant at;
  WallTime wall;
};

// Jobs of one request have consecutive ids.
struct RecentRequest {
  JobId first;
  std::uint32_t count = 0;
  Instant at;
};

// Jobs with consecutive ids that left memory in the same hour with the same kind of end.
struct ForgottenRun {
  JobId last;
  CauseKind kind = CauseKind::kCompleted;
  std::int64_t hour = 0;
};

class Cluster {
 public:
  Cluster() = default;
  Cluster(Cluster&&) noexcept = default;
  Cluster& operator=(Cluster&&) noexcept = default;

  // In order, every event once. Cannot fail: an event that does not fit is a bug, or damage that
  // the journal's checksum did not catch, and ends the process.
  void apply(const Event& event, const Stamp& stamp);

  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<AttemptKey, Attempt>& attempts() const { return attempts_; }  // Live ones only.
  const std::map<NodeId, Node>& nodes() const { return nodes_; }
  const Job* find_job(JobId id) const;
  const Attempt* find_attempt(const AttemptKey& key) const;
  const Attempt* find_attempt(const ElementKey& key) const;  // The live one of that element.
  const Node* find_node(NodeId id) const;
  const Node* find_node(std::string_view name) const;
  const Device* find_device(DeviceId id) const;
  const Device* find_device(std::string_view uuid) const;
  const std::vector<AttemptKey>& attempts_on(NodeId node) const;  // In order.

  const ClusterConfig& config() const { return *config_; }
  const std::shared_ptr<const ClusterConfig>& config_shared() const { return config_; }
  const QueueConfig* find_queue(std::string_view name) const;
  const AccountConfig* find_account(std::string_view name) const;
  const QosConfig* find_qos(std::string_view name) const;

  const RecentRequest* find_request(const RequestId& request, Instant now) const;
  JobId job_next() const { return job_next_; }
  NodeId node_next() const { return node_next_; }
  DeviceId device_next() const { return DeviceId{static_cast<std::uint32_t>(devices_.size()) + 1}; }
  std::uint64_t jobs_unfinished() const { return unfinished_; }
  std::uint64_t jobs_unfinished(Uid uid) const;
  std::optional<CauseKind> forgotten_end(JobId id) const;
  // Ended jobs by the record that ended them.
  const std::set<std::pair<Seq, JobId>>& jobs_ended() const { return jobs_ended_; }

  // Of attempts that have ended; those that run are not in it.
  const std::map<UsageKey, Usage>& usage() const { return usage_; }
  const RunTimesBook& run_times() const { return run_times_; }
  const EstimateBook& estimates() const { return estimates_; }
  // By element. One that is over stays until the next.
  const std::map<ElementKey, FreedRoom>& rooms() const { return rooms_; }

  const std::map<std::string, Reservation>& reservations() const { return reservations_; }
  const Reservation* find_reservation(const std::string& name) const;

  Epoch epoch() const { return epoch_; }
  const std::string& cluster_id() const { return cluster_id_; }
  Instant applied_at() const { return applied_at_; }  // Engine time of the newest event.
  std::uint64_t digest() const;

 private:
  friend class ClusterImage;  // Snapshots: takes it apart and puts it together.
  friend struct ImageBuilder;
  friend struct ClusterApply;

  Epoch epoch_;
  std::string cluster_id_;
  Instant applied_at_;
  std::uint64_t digest_ = 0;
  JobId job_next_{1};
  NodeId node_next_{1};
  std::uint64_t unfinished_ = 0;
  std::shared_ptr<const ClusterConfig> config_ = std::make_shared<const ClusterConfig>();

  std::map<JobId, Job> jobs_;
  std::map<AttemptKey, Attempt> attempts_;
  std::map<NodeId, Node> nodes_;
  std::vector<Device> devices_;  // By id - 1.
  std::map<RequestId, RecentRequest> requests_;
  std::map<JobId, ForgottenRun> forgotten_;  // By first id.
  std::map<UsageKey, Usage> usage_;
  RunTimesBook run_times_;
  std::map<std::string, Reservation> reservations_;  // By name.
  EstimateBook estimates_;
  std::map<ElementKey, FreedRoom> rooms_;

  // Found again from the above.
  std::deque<std::pair<Instant, RequestId>> requests_by_age_;
  std::map<std::string, NodeId, std::less<>> node_names_;
  std::map<std::string, DeviceId, std::less<>> device_uuids_;
  std::map<NodeId, std::vector<AttemptKey>> attempts_on_;
  std::map<Uid, std::uint64_t> unfinished_of_;
  std::set<std::pair<Seq, JobId>> jobs_ended_;
  InternPool<JobOwner> owners_;
  InternPool<JobTerms> terms_;
  InternPool<std::string> addresses_;  // Of the first nodes of attempts.
};

// What the place counts for in fair share: weighted milli-GPUs, by its GPUs or its CPUs, whichever
// are more.
std::uint64_t weighted_milli(const Cluster& cluster, const Place& place);
// The same as the job's QOS counts it.
std::uint64_t charged_milli(const Cluster& cluster, const JobFacts& job, const Place& place);

}  // namespace muster
