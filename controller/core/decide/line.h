// Pending jobs in the order they are tried. A shape is what one queue is asked for, for about how
// long: it fits or it does not, whoever asks. A lane is the jobs of one shape whose turns differ by
// their position only. A pass costs per shape, not per job.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/order.h"

namespace muster {

// Total: no two jobs are equal. Lower comes first.
struct Turn {
  std::int64_t queue_priority = 0;  // Negated, as the next one: the highest first.
  std::int64_t priority = 0;        // The lane's score.
  std::int64_t length = 0;    // In queues that take the shortest first (decide/shortest), else 0.
  std::int64_t position = 0;  // The job's number, or the place that `top` gave it.
  JobId job;
  auto operator<=>(const Turn&) const = default;
};

using LaneEntry = std::pair<std::int64_t, JobId>;  // Position, job.
using LaneId = std::uint32_t;

// What one queue is asked for, for however long.
struct Demand {
  std::shared_ptr<const JobTerms> terms;  // Of its first job.
  std::uint32_t shapes = 0;
  std::uint64_t refused_in = 0;  // The round in which not even a short job of it fitted.
};
using DemandId = std::uint32_t;

struct Shape {
  ShapeId id;
  DemandId demand = 0;
  Duration time;  // At least the time limit of each of its jobs, at most a quarter more.
  std::uint64_t refused_in = 0;             // The round in which it last did not fit.
  std::set<std::pair<Turn, LaneId>> heads;  // Of its lanes.
};

struct Lane {
  LaneId id = 0;
  ShapeId shape;
  std::shared_ptr<const JobTerms> terms;  // Of its first job: what all have in common.
  Uid uid;
  std::int64_t queue_priority = 0;
  std::int64_t score = 0;        // Of its first job, when it was scored last.
  std::int64_t length = 0;       // As well.
  std::string likeness;          // Of the names of its jobs, where run times are learned.
  std::uint32_t level = 0;       // Of what they have had, where that is the order.
  std::uint64_t refused_in = 0;  // The round in which it did not fit beside planned starts.
  std::set<LaneEntry> jobs;      // With a pending element.

  Turn turn_of(const LaneEntry& entry) const {
    return Turn{-queue_priority, -score, length, entry.first, entry.second};
  }
};

// Rounded up to a number with three leading bits: time limits that differ a little share a shape.
Duration time_class(Duration limit);

class Line {
 public:
  void rebuild(const Cluster& cluster, const Order& order);
  // The job's elements moved: it stands in line exactly while one of them is pending.
  void refresh(const Cluster& cluster, const Order& order, JobId job);
  // Before a job changes its terms or position, or is forgotten.
  void remove(const Cluster& cluster, JobId job);
  // A pending job that was passed over may be startable now.
  void touch(const Cluster& cluster, JobId job);

  // Scores so many lanes anew as of `at`, those after `from` first. Answers where to go on; 0: all
  // are done. A lane that comes later is scored as of the same moment: else a job that came last
  // would have the age of now, and the others that of half a minute ago.
  LaneId rescore(const Cluster& cluster, const Order& order, Instant at, LaneId from,
                 std::size_t count);

  const std::map<LaneId, Lane>& lanes() const { return lanes_; }
  const std::map<ShapeId, Shape>& shapes() const { return shapes_; }
  const Lane* find_lane(LaneId id) const;
  // Null when the job has no pending element.
  const Lane* find_lane(const Job& job) const;
  // Did not fit in this round; for no job of the same demand when `however_short`.
  void set_refused(ShapeId shape, std::uint64_t round, bool however_short);
  // The same for one lane, whose jobs are expected to run longer than those of others.
  void set_refused(LaneId lane, std::uint64_t round);
  bool is_refused(ShapeId shape, std::uint64_t round) const;
  // Lanes with a job that came or moved since the last call.
  std::set<LaneId> take_fresh() { return std::exchange(fresh_, {}); }
  std::uint64_t jobs_waiting() const { return waiting_; }
  // Jobs in line for the same queue that come before this turn.
  std::uint32_t jobs_ahead(const std::string& queue, const Turn& turn) const;

 private:
  struct DemandKey {
    std::uint64_t digest = 0;
    std::string queue;
    std::vector<Group> groups;
    std::vector<LicenceCount> licences;
    TopologyWish topology;
    std::string reservation;
    auto operator<=>(const DemandKey&) const = default;
  };
  using ShapeKey = std::pair<DemandId, Duration>;
  struct LaneKey {
    ShapeId shape;
    Uid uid;
    std::int32_t priority = 0;
    std::string account;
    std::string qos;
    std::int32_t nice = 0;
    std::string likeness;
    std::uint32_t level = 0;
    auto operator<=>(const LaneKey&) const = default;
  };
  static DemandKey key_of(const JobTerms& terms);
  static LaneKey key_of(const Lane& lane);
  LaneKey key_of(ShapeId shape, const JobFacts& facts) const;
  DemandId demand_for(const std::shared_ptr<const JobTerms>& terms);
  Shape& shape_for(const std::shared_ptr<const JobTerms>& terms);
  Lane& lane_for(const Cluster& cluster, const Order& order, const Job& job);
  // By what its first job is worth now; the length is not less than that.
  void stand(const Cluster& cluster, const Order& order, Lane& lane,
             std::int64_t length_min = std::numeric_limits<std::int64_t>::min());
  void drop_shape(ShapeId id);
  void relevel(const Cluster& cluster, const Job& job);
  void insert(Lane& lane, const LaneEntry& entry);
  void erase(Lane& lane, const LaneEntry& entry);
  void head(const Lane& lane);
  void unhead(const Lane& lane);

  std::map<DemandId, Demand> demands_;
  std::map<DemandKey, DemandId> demand_ids_;
  std::map<ShapeId, Shape> shapes_;
  std::map<ShapeKey, ShapeId> shape_ids_;
  std::map<LaneId, Lane> lanes_;
  std::map<LaneKey, LaneId> lane_ids_;
  std::set<std::string> learning_;         // Queues that go by learned run times.
  std::map<JobId, std::uint32_t> levels_;  // Of those in line, where not 0 (decide/attained).
  Instant scored_at_;
  std::set<LaneId> fresh_;
  DemandId demand_next_ = 1;
  ShapeId shape_next_{1};
  LaneId lane_next_ = 1;
  std::uint64_t waiting_ = 0;
};

std::int64_t position_of(const Job& job);
LaneEntry entry_of(const Job& job);

}  // namespace muster
