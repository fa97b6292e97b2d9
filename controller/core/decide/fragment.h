// Which node, and which of its GPUs, a request should take so that what stays free is worth most to
// the jobs that come (worth.h). Nodes in equal states are weighed once, and so is each kind of
// request on each state: what has been weighed is kept until the mix of shapes changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "controller/core/decide/mix.h"
#include "controller/core/decide/worth.h"

namespace muster {

constexpr std::size_t kStatesWeighedMax = 2048;  // For one kind of request; the fullest come first.
constexpr std::size_t kAsksKeptMax = 128;        // Kinds of requests.

// The books as they are, which must stay so while a walk lasts.
struct Books {
  const std::vector<NodeFree>& nodes;
  const std::vector<NodeClass>& classes;
  const Arrivals& arrivals;
};

class Fragments {
 public:
  // The classes begin anew; every node there is will be touched.
  void clear(std::set<std::string> queues_listed);
  // The node's books changed, it came or it went.
  void touch(NodeId node);

 private:
  using StateId = std::uint32_t;
  struct Ranked {
    std::int64_t loss = 0;
    std::uint32_t left = 0;  // Milli free on the node afterwards.
    StateId state = 0;
  };
  struct Source {  // Of one class.
    const std::vector<Ranked>* ranked = nullptr;
    std::size_t at = 0;
    std::int64_t price = 0;
  };

 public:
  // Names the nodes that can hold one copy of the ask, each once, cheapest first, then the fullest.
  // Memory is counted in whole GiB: it may be short by less.
  class Walk {
   public:
    std::optional<NodeId> next();
    // States weighed for this walk that had not been for an earlier one.
    std::uint32_t weighed() const { return weighed_; }
    // Nodes may be missing: there were too many states, or nodes with too many GPUs.
    bool is_partial() const { return partial_; }

   private:
    friend class Fragments;
    explicit Walk(const Fragments& of) : of_(&of) {}
    bool skip_empty(Source& source) const;  // False at its end.
    bool comes_later(const Source& a, const Source& b) const;

    const Fragments* of_;
    std::vector<Source> sources_;  // A heap, the next one on top.
    const std::set<NodeId>* nodes_ = nullptr;
    std::set<NodeId>::const_iterator node_;
    std::uint32_t weighed_ = 0;
    bool partial_ = false;
  };
  // Among nodes of these classes, whose idle nodes can hold it.
  Walk walk(const Books& books, const NodeAsk& ask, const std::vector<ClassId>& classes);

  // To compare the GPUs of a node by: serving the group with a share of the one that costs least
  // leaves the node worth most.
  std::int64_t cost_on_gpu(const Books& books, const Group& group, const NodeFree& node,
                           std::size_t gpu);

 private:
  struct Slot {
    FreeState state;
    std::set<NodeId> nodes;
    std::optional<std::uint64_t> value;
  };
  struct List {
    std::uint64_t used = 0;   // The walk that used it last.
    std::size_t read = 0;     // Of journal_.
    std::vector<bool> known;  // By state: weighed, or it does not fit.
    std::map<ClassId, std::vector<Ranked>> ranked;
    std::size_t size = 0;
    bool partial = false;
  };

  void sync(const Books& books);
  void renew_worth(const Books& books);
  void place_node(const Books& books, NodeId node);
  void leave_state(NodeId node);
  StateId state_of(const FreeState& state);
  std::uint64_t value_in(StateId id);
  void compact();

  bool is_worn(const List& list) const;
  List& list_for(const NodeAsk& ask, const std::vector<ClassId>& classes);
  std::uint32_t catch_up(const Books& books, const NodeAsk& ask, List& list);
  std::uint32_t weigh(const Books& books, const NodeAsk& ask, List& list, StateId id);
  bool ranks_before(const Ranked& a, const Ranked& b) const;

  Worth worth_;
  std::optional<JobId> mix_to_;  // The arrivals that worth_ counts.
  std::set<std::string> queues_listed_;
  std::vector<NodeId> touched_;
  std::vector<bool> is_touched_;
  std::vector<std::optional<StateId>> state_at_;  // By node.
  std::vector<Slot> slots_;
  std::map<FreeState, StateId> ids_;
  std::size_t empty_ = 0;         // States that no node is in.
  std::vector<StateId> journal_;  // States as nodes came into them.
  std::map<NodeAsk, List> lists_;
  std::uint64_t walks_ = 0;
};

}  // namespace muster
