// What a node's free capacity is worth to the jobs that come. Over the mix of shapes m seen, a
// free state s is worth
//
//   V(s) = sum over m that fit: share(m) * u(s,m) * (1 - lambda + lambda * c(s,m) / n(s,m))
//
// u: free milli on GPUs that could serve m; n: copies of m that those GPUs hold; c: copies that the
// node holds, with its CPUs and memory. A place costs V(before) - V(after), and a price by the
// pressure on the node's class: how crowded the classes are that picky shapes of the mix depend on.
// With lambda 0 and no price it is the fragmentation gradient of FGD (USENIX ATC'23).
//
// All of it in fixed point: every machine finds the same places.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/core/decide/mix.h"

namespace muster {

struct NodeClass;
struct NodeFree;
using ClassId = std::uint32_t;

constexpr std::size_t kValuedGpusMax = 16;  // Nodes with more of them are not valued.

// What of a node is free, as far as it matters for its worth. Nodes of equal states are alike.
struct FreeState {
  ClassId node_class = 0;
  std::uint32_t memory_gib_total = 0;
  std::uint32_t milli = 0;  // Of all GPUs.
  std::uint32_t cpus = 0;
  std::uint32_t memory_gib = 0;  // Whole ones.
  // Of each GPU, runs of equal ones one after the other, in a run the freest first.
  std::array<std::uint16_t, kValuedGpusMax> gpus{};
  auto operator<=>(const FreeState&) const = default;
};

// Where the GPUs of a class stand in its states.
struct ClassLayout {
  std::vector<std::uint32_t> order;  // Indices on the node.
  std::vector<std::uint32_t> runs;   // Where each run of GPUs of one type and memory ends.
  bool is_valued() const { return order.size() <= kValuedGpusMax; }
};

ClassLayout layout_of(const NodeClass& node_class);
FreeState free_state(const NodeFree& node, const ClassLayout& layout);

class Worth {
 public:
  // Starts anew. Both are only read now.
  void set_mix(const std::vector<NodeClass>& classes, const std::vector<MixShape>& mix,
               const std::set<std::string>& queues_listed);
  std::size_t classes_known() const { return layouts_.size(); }
  const ClassLayout& layout(ClassId id) const { return layouts_[id]; }

  // In milli, with 28 bits behind the point.
  std::uint64_t value(const FreeState& state) const;
  // In milli, with 20 bits behind the point, and so are prices.
  std::int64_t loss(std::uint64_t before, std::uint64_t after) const;
  std::int64_t price(ClassId id, std::uint64_t milli) const;
  // So much is free on the class's usable nodes, which it was not; and no more is.
  void add_free(ClassId id, std::uint64_t more, std::uint64_t less);

 private:
  // One shape of the mix in the eyes of one class.
  struct Want {
    std::uint32_t cpus = 0;
    std::uint64_t memory_gib = 0;  // Whole ones.
    std::uint64_t copies_per_cpu = 0;
    std::uint64_t copies_per_gib = 0;
    std::uint64_t share = 0;
  };
  // Those that ask for the same GPUs.
  struct Bundle {
    std::uint32_t milli = 0;
    std::uint32_t gpus = 0;
    std::uint32_t accepted = 0;  // Bit i: the state's GPU i.
    std::vector<Want> wants;
  };
  // Shapes of the mix that the same classes can serve.
  struct Crowd {
    std::uint64_t share = 0;  // Of the GPUs asked for.
    std::uint64_t milli = 0;  // Free on the classes.
  };

  using Bundles = std::map<std::array<std::uint32_t, 3>, Bundle>;

  void add_want(Bundles& bundles, const NodeClass& node_class, const Group& group,
                std::uint64_t share) const;
  void set_crowds(const std::vector<MixShape>& mix,
                  const std::vector<std::vector<ClassId>>& classes_of);

  std::vector<ClassLayout> layouts_;
  std::vector<std::vector<Bundle>> bundles_;         // By class.
  std::vector<std::vector<std::size_t>> crowds_of_;  // By class.
  std::vector<std::uint64_t> free_;                  // By class.
  std::uint64_t free_all_ = 0;
  std::vector<Crowd> crowds_;
};

// The GPUs of the class that the group accepts: bit i is the state's GPU i.
std::uint32_t accepted_gpus(const Group& group, const NodeClass& node_class,
                            const ClassLayout& layout);

// The states that the node may be in after it served the group once, best types first; of shares
// one for each GPU they may be taken of. Empty when it does not fit. Memory may be short by less
// than a GiB.
std::vector<FreeState> states_after(const Group& group, const NodeClass& node_class,
                                    const ClassLayout& layout, const FreeState& state);

// The state it is in when it takes a share of that GPU of the node, which has the room for it.
FreeState state_after_on(const Group& group, const NodeFree& node, const ClassLayout& layout,
                         std::size_t gpu);

}  // namespace muster
