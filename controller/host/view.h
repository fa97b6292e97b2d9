// What readers see: durable state only, immutable, published in O(changes). Queries never touch the
// engine.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/core/engine.h"
#include "controller/host/cow_table.h"

namespace muster {

// A live attempt as readers see it.
struct AttemptView {
  AttemptKey key;
  std::shared_ptr<const Place> place;
  AttemptState state = AttemptState::kPreparing;
  WallTime started_wall;
  WallTime launched_wall;
  std::vector<AttemptPhase> phases;  // Parallel to the members.
  std::vector<std::pair<NodeId, ExitRecord>> ended;
};
struct JobView {
  explicit JobView(const Job& from) : job(from) {}
  Job job;
  std::shared_ptr<const AttemptView> only;            // Of a plain job.
  std::shared_ptr<const CowTable<AttemptView>> many;  // Of an array, by element + 1.
  WaitReason waits = WaitReason::kDependency;  // Why those wait that do not stand in line yet.
};
const AttemptView* live_attempt(const JobView& job, Element element);  // Null: none.

struct NodeView {
  std::shared_ptr<const Node> node;
  bool connected = false;
  std::uint32_t cpus_used = 0;
  std::uint64_t memory_mib_used = 0;
  std::map<DeviceId, std::uint32_t> milli_used;
  std::map<DeviceId, std::vector<ElementKey>> holders;
};

struct ViewState {
  Seq seq;
  CowTable<JobView> jobs;    // By job id.
  CowTable<NodeView> nodes;  // By node id.
  std::shared_ptr<const ClusterConfig> config = std::make_shared<const ClusterConfig>();
  std::shared_ptr<const std::vector<Reservation>> reservations =
      std::make_shared<const std::vector<Reservation>>();  // By name.
  Epoch epoch;
  std::uint64_t jobs_pending = 0;  // Elements.
  std::uint64_t jobs_running = 0;
};

// What one engine step changed, taken on the engine's thread, published once durable.
struct ViewChange {
  Seq seq;
  std::vector<std::pair<JobId, std::shared_ptr<const JobView>>> jobs;     // Null: forgotten.
  std::vector<std::pair<NodeId, std::shared_ptr<const NodeView>>> nodes;  // Null: removed.
  std::shared_ptr<const ClusterConfig> config;                            // Null: unchanged.
  std::shared_ptr<const std::vector<Reservation>> reservations;           // Null: unchanged.
  bool empty() const {
    return jobs.empty() && nodes.empty() && config == nullptr && reservations == nullptr;
  }
};

// Reads the engine's present state of what changed. The engine's thread only. `known` lets
// unchanged node facts be shared between publications.
class ViewSource {
 public:
  ViewChange take(Engine& engine);
  ViewChange all(const Engine& engine);  // After a restart.

 private:
  std::shared_ptr<const JobView> job_view(const Engine& engine, const Job& job);
  void follow(const Engine& engine, ElementKey key);
  std::shared_ptr<const NodeView> node_view(const Engine& engine, const Node& node);
  std::map<NodeId, std::shared_ptr<const Node>> known_;
  std::map<JobId, CowTable<AttemptView>> live_;  // Of arrays with an element that runs.
};

// publish() on one thread; everything else on any.
class View {
 public:
  void publish(const ViewChange& change, Epoch epoch);
  std::shared_ptr<const ViewState> state() const;
  // The state once it stands at `seq` or later; null when that takes longer than `patience`.
  std::shared_ptr<const ViewState> state_at(Seq seq, Duration patience) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const ViewState> state_ = std::make_shared<const ViewState>();
  ViewState building_;  // The publishing thread's own.
};

}  // namespace muster
