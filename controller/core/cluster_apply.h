// The one way memory changes: one function per event. Part of Cluster, not for others.
#pragma once

#include "controller/core/cluster.h"

namespace muster {

std::uint64_t digest_of_attempt(const Attempt& attempt);  // Without its members' records.
std::uint64_t digest_of_member_end(const AttemptKey& key, NodeId node, const ExitRecord& record);
std::uint64_t digest_of_device(const Device& device);
std::uint64_t digest_of_request(const RequestId& id, const RecentRequest& request);
std::uint64_t digest_of_forgotten(JobId first, const ForgottenRun& run);
std::uint64_t digest_of_usage(const UsageKey& key, const Usage& usage);  // 0 when nothing was used.

// False: it is there already.
bool insert_sorted(std::vector<AttemptKey>& keys, const AttemptKey& key);

struct ClusterApply {
  Cluster& cluster;
  Stamp stamp;

  void operator()(const EpochBegun& event);
  void operator()(const ConfigApplied& event);
  void operator()(const NodeEnrolled& event);
  void operator()(const NodeReported& event);
  void operator()(const NodeStateChanged& event);
  void operator()(const NodeRemoved& event);
  void operator()(const JobSubmitted& event);
  void operator()(const ElementsHeld& event);
  void operator()(const ElementsReleased& event);
  void operator()(const ElementsEnded& event);
  void operator()(const ElementRequeued& event);
  void operator()(const JobChanged& event);
  void operator()(const JobForgotten& event);
  void operator()(const AttemptStarted& event);
  void operator()(const AttemptLaunched& event);
  void operator()(const AttemptStopping& event);
  void operator()(const MemberEnded& event);
  void operator()(const AttemptEnded& event);
  void operator()(const SegmentSealed& event);
  void operator()(const ElementsReady& event);
  void operator()(const GateChanged& event);
  void operator()(const ArrayThrottled& event);
  void operator()(const ReservationSet& event);
  void operator()(const ReservationRemoved& event);
  void operator()(const StartsEstimated& event);
  void operator()(const UsageSet& event);
  void operator()(const RoomFreed& event);
  void operator()(const BoardRebuilt&) {}

  void expire_requests();

 private:
  Job& job_must_exist(JobId id);
  Node& node_must_exist(NodeId id);
  Attempt& attempt_must_exist(const AttemptKey& key);
  void note_request(const JobSubmitted& event);
  void change_terms(JobFacts& facts, const JobTerms& terms);
  void note_forgotten(JobId id, CauseKind kind);
  void intern_device(const std::string& uuid, DeviceId id, NodeId node);
  void end_job_if_over(Job& job);
  void drop_room(ElementKey element);
  // Of its elements that are not pending any more, or of all.
  void drop_rooms(JobId job, bool all = false);
  void drop_rooms_over();
  void lower_limits(JobId job);  // Of its attempts.
  void charge(const JobFacts& facts, const Attempt& attempt);
  template <class Change>
  void change_node(Node& node, Change change);
  template <class Change>
  void change_attempt(Attempt& attempt, Change change);
};

}  // namespace muster
