// What the jobs that arrive ask for: the shapes that free capacity should stay usable for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/resources.h"
#include "controller/core/job.h"

namespace muster {

// What is asked of one node. Compares equal for whatever is the same in the eyes of a node: node
// counts, tasks and names are not in it.
struct NodeAsk {
  Group group;
  std::string queue;
  auto operator<=>(const NodeAsk&) const = default;
};

NodeAsk ask_of(const std::string& queue, const Group& group);

struct MixShape {
  NodeAsk ask;
  std::uint64_t count = 0;  // Of nodes asked for so.
};

constexpr std::size_t kMixJobs = 4096;       // The newest arrivals, which count; older ones fade.
constexpr std::uint64_t kMixEvery = 1024;    // Arrivals between two mixes, once there are enough.
constexpr std::size_t kMixShapesMax = 512;   // The most frequent ones.
constexpr std::uint64_t kMixCountMax = 256;  // One job counts at most so often.

// The newest arrivals by their ids. A mix is due at fixed ids, so that it is the same after a
// restart from the same jobs.
class Arrivals {
 public:
  // In rising order of ids. Jobs without GPUs are passed over.
  void note(JobId id, const std::shared_ptr<const JobTerms>& terms);
  // So many have arrived, noted or not.
  void advance_to(JobId newest);
  // Forgets everything.
  void clear();
  // The id up to which arrivals count now.
  JobId counted_to() const { return due_; }
  // The shapes of arrivals up to counted_to(), in the order of their contents.
  std::vector<MixShape> shapes() const;

 private:
  struct Arrival {
    JobId id;
    std::shared_ptr<const JobTerms> terms;
  };
  std::deque<Arrival> arrivals_;
  JobId due_{0};
  std::uint64_t due_next_ = 1;
};

}  // namespace muster
