// Who waits for whom, and until when: an index from what happens to the jobs it may let through, so
// that an event costs what depends on it and a tick what is due. Found again from the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/core/cluster.h"
#include "controller/core/verdict.h"

namespace muster {

enum class GateState : std::uint8_t { kOpen, kLater, kHolds, kNever };
struct Judged {
  GateState state = GateState::kOpen;
  Instant at;  // Of kLater: when it holds.
};

// What is to be judged of a waiting job: all its elements after `from`, or only these.
struct GateDue {
  bool whole = false;
  Element from;
  std::set<Element> elements;
};

// An entry per job with a gate whose elements wait or are held. What such a job waits for is kept
// in memory by keeps(), so that a condition whose job is no longer there has held.
class Gates {
 public:
  void rebuild(const Cluster& cluster);
  // Around Cluster::apply(event).
  void before(const Cluster& cluster, const Event& event);
  void after(const Cluster& cluster, const Event& event);
  // What time alone has made due.
  void tick(const Cluster& cluster, Instant now, WallTime wall);

  // The job of `condition` for one element of `job`; kLater counts as kHolds once it is `now`.
  Judged judge(const Cluster& cluster, const Job& job, const Condition& condition, Element element,
               Instant now) const;
  // All of the job's conditions together.
  Judged judge(const Cluster& cluster, const Job& job, Element element, Instant now) const;

  bool keeps(JobId job) const { return dependents_.count(job) != 0; }
  // kDependency, kDependencyNever or kNotYet: why the elements of the job wait that wait.
  WaitReason reason_of(JobId job) const;

  std::map<JobId, GateDue>& due() { return due_; }
  std::set<JobId>& overdue() { return overdue_; }  // Past the last start that keeps their deadline.
  void wake_at(JobId job, Instant at) { delays_.emplace(at, job); }
  bool set_state(JobId job, GateState state);  // Of the whole job. True: it is another.
  std::size_t size() const { return entries_.size(); }
  // The job with an entry that follows this one.
  std::optional<JobId> next_after(JobId job) const {
    const auto found = entries_.upper_bound(job);
    return found == entries_.end() ? std::nullopt : std::optional(found->first);
  }

  // Unfinished jobs of the same user and name before this one: what `singleton` waits for.
  std::vector<JobId> namesakes_before(const Cluster& cluster, const Job& job,
                                      const std::string& name) const;
  // Jobs after this one that wait for all of that name before them.
  std::set<JobId> singletons_after(Uid uid, const std::string& name, JobId job) const;
  bool is_first_of_name(const Cluster& cluster, const Job& job) const;

 private:
  struct Dependents {
    std::set<JobId> whole;                       // Look at its end, or first failure.
    std::set<JobId> started;                     // Look also at launches.
    std::set<JobId> corr;                        // Look at every end, element by element.
    std::map<Element, std::set<JobId>> element;  // Look at that element only.
    bool empty() const {
      return whole.empty() && started.empty() && corr.empty() && element.empty();
    }
  };
  struct Namesakes {
    std::set<JobId> unfinished;
    std::set<JobId> waiting;
  };
  struct User {
    std::map<std::string, Namesakes> names;
    std::size_t waiting = 0;  // Singletons; without any the user's jobs are not listed.
  };
  struct Entry {
    std::shared_ptr<const JobFacts> facts;  // As they were when it was entered.
    GateState state = GateState::kOpen;
  };

  void refresh(const Cluster& cluster, JobId id);
  void enter(const Cluster& cluster, const Job& job);
  void leave(JobId id);
  void index(const Cluster& cluster, const Job& job, const Condition& condition);
  void unindex(const JobFacts& facts, const Condition& condition);
  void follow_deadline(const Job& job);
  void note_end(const Cluster& cluster, const ElementsEnded& event);
  void note_launch(const Cluster& cluster, const AttemptKey& key);
  void list_names(const Cluster& cluster, Uid uid);
  void wake(const std::set<JobId>& jobs);
  void wake_first(const Namesakes& namesakes);
  const Namesakes* find_names(Uid uid, const std::string& name) const;
  void forget_name(const Job& job);
  void note_name(const Job& job);

  std::map<JobId, Entry> entries_;
  std::map<JobId, Dependents> dependents_;
  std::map<Uid, User> users_;
  std::set<std::pair<WallTime, JobId>> begins_;
  std::set<std::pair<Instant, JobId>> delays_;
  std::set<std::pair<WallTime, JobId>> deadlines_;  // By the last start that keeps them.
  std::map<JobId, WallTime> deadline_of_;
  std::map<JobId, GateDue> due_;
  std::set<JobId> overdue_;
};

}  // namespace muster
