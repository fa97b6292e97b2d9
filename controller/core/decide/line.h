// Pending jobs in the order they are tried. Jobs that ask for the same thing in one queue, account
// and priority are one shape, so a pass costs per shape.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"

namespace muster {

// Total: no two jobs are equal. Lower comes first.
struct Turn {
  std::int64_t queue_priority = 0;  // Negated, as the next one: the highest first.
  std::int64_t priority = 0;
  std::int64_t position = 0;  // The job's number, or the place that `top` gave it.
  JobId job;
  auto operator<=>(const Turn&) const = default;
};

struct Shape {
  ShapeId id;
  std::shared_ptr<const JobTerms>
      terms;  // Of its first job: what all have in common is read from it.
  std::int64_t queue_priority = 0;
  std::set<std::pair<std::int64_t, JobId>> jobs;  // With a pending element: by position.
  std::uint64_t refused_at =
      0;  // The ledger's generation when the shape last did not fit; 0: not tried since.

  Turn turn_of(const std::pair<std::int64_t, JobId>& entry) const {
    return Turn{-queue_priority, -std::int64_t{terms->priority}, entry.first, entry.second};
  }
};

std::int64_t position_of(const Job& job);
Turn turn_of(const Cluster& cluster, const Job& job);

class Line {
 public:
  void rebuild(const Cluster& cluster);
  // The job's elements moved: it stands in line exactly while one of them is pending.
  void refresh(const Cluster& cluster, JobId job);
  // Before a job changes its terms or position, or is forgotten.
  void remove(const Cluster& cluster, JobId job);

  const std::map<ShapeId, Shape>& shapes() const { return shapes_; }
  const Shape* find_shape(const JobTerms& terms) const;
  void set_refused(ShapeId shape, std::uint64_t generation);
  // The first shape whose first job is not before `from`, and that job's turn.
  const std::set<std::pair<Turn, ShapeId>>& heads() const { return heads_; }
  std::uint64_t jobs_waiting() const { return waiting_; }
  // Jobs in line for the same queue that come before this turn.
  std::uint32_t jobs_ahead(const std::string& queue, const Turn& turn) const;

 private:
  struct Key {
    std::uint64_t digest = 0;
    std::string queue;
    std::string account;
    std::int32_t priority = 0;
    std::vector<Group> groups;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const JobTerms& terms);
  void insert(Shape& shape, std::pair<std::int64_t, JobId> entry);
  void erase(Shape& shape, std::pair<std::int64_t, JobId> entry);
  void unhead(const Shape& shape);
  void head(const Shape& shape);

  std::map<ShapeId, Shape> shapes_;
  std::map<Key, ShapeId> ids_;
  std::set<std::pair<Turn, ShapeId>> heads_;
  ShapeId next_{1};
  std::uint64_t waiting_ = 0;
};

}  // namespace muster
