// The invariants, looked at with every step: what was acknowledged is there (I1, I8), nothing
// starts twice (I2) or before it is durable, no GPU is held twice (I3), elements only move legally
// and end once (I4). What the checker believes comes from durable records, from what clients were
// told, and from tasks that really run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/engine.h"

namespace muster::sim {

class Trace {
 public:
  // One line of what happened; the hash of all lines is the trace's.
  void note(Instant at, const std::string& line);
  std::uint64_t hash() const { return hash_; }
  void keep_lines() { keeps_ = true; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::uint64_t hash_ = 0;
  bool keeps_ = false;
  std::vector<std::string> lines_;
};

class Checker {
 public:
  // ---- the journal ----
  void durable(const Record& record);
  void restarted(const Engine& engine);  // Everything durable has been replayed.

  // ---- the clients ----
  void submitted(const RequestId& request, const std::vector<JobId>& jobs);  // Acknowledged.
  void cancelled(JobId job, Seq seq);  // Acknowledged; seq: what the answer stands on.
  void wanted_again(JobId job);        // A requeue was asked for: it may win over a cancel.

  // ---- the tasks ----
  void started(const std::string& node, const AttemptKey& key,
               const std::vector<std::string>& devices);
  void stopped(const std::string& node, const AttemptKey& key,
               const std::vector<std::string>& devices);

  void violate(const std::string& what);
  bool is_violated() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }
  std::size_t acknowledged() const { return acknowledged_.size(); }
  std::size_t starts() const { return starts_.size(); }

 private:
  struct ElementModel {
    ElementState state = ElementState::kPending;
    std::uint32_t attempts = 0;
    bool attempt_live = false;
    bool launched = false;
  };
  using Jobs = std::map<JobId, std::map<Element, ElementModel>>;
  struct Follow;  // Visits events.

  std::string violation_;
  Seq durable_seq_;
  Jobs jobs_;
  std::map<JobId, RequestId> requests_;
  std::set<JobId> forgotten_;
  std::map<AttemptKey, Place> live_;
  std::map<DeviceId, std::uint64_t> granted_;
  std::set<AttemptKey> launched_;
  std::map<RequestId, std::vector<JobId>> acknowledged_;
  std::map<JobId, Seq> cancels_;
  std::set<JobId> wanted_again_;
  std::map<std::string, std::pair<std::string, AttemptKey>>
      holders_;  // Device to node and attempt.
  std::set<std::pair<std::string, AttemptKey>> starts_;
  std::map<ElementKey, std::map<AttemptNo, int>> running_;  // Tasks by attempt.
};

}  // namespace muster::sim
