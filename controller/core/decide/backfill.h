// Planned starts: the first blocked jobs of each queue have nodes booked from
// the time these come free, and whatever starts before must end by then or
// leave them enough. Forward reservations as in conservative backfill (Mu'alem
// and Feitelson, IEEE TPDS 12(6), 2001), for the first few jobs only and
// counted per node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/calendar.h"
#include "controller/core/decide/horizon.h"
#include "controller/core/decide/ledger.h"

namespace muster {

struct PlannedStart {
  ElementKey element;
  std::string queue;
  Instant at;
  Instant until;
  std::vector<NodeId> nodes;
  Instant promised;                     // When its start was first planned for.
  std::optional<AttemptKey> waits_for;  // Its end is the last one needed.
  bool freed = false;                   // Others are stopped for it: see kRoomHeldFor.
};

// All describe the present; bookings are the Backfill's own.
struct Present {
  const Cluster& cluster;
  const Ledger& ledger;
  const Horizon& horizon;
  Instant now;
  const Calendar* calendar;  // Never null.
};

struct PlanRequest {
  ElementKey element;
  std::shared_ptr<const JobTerms> terms;
  Duration time;                                // How long it may run, or is likely to.
  const std::vector<NodeId>* within = nullptr;  // Nodes that it may have; null: any.
  bool predicted = false;  // Ends on which it counts may come later than thought.
};

// Learned run times err. A planned start that has moved by more than this is
// late, and what starts before it must be expected to need no more than a part
// of the time that is left.
constexpr Duration kPlanSlack = hours(4);
constexpr std::int64_t kLatePart = 4;

class Backfill {
 public:
  // All plans go, to be made anew, but those that others are stopped for. Those that find the same
  // time again keep their nodes, so that no plan upsets those behind it for nothing.
  void clear(Instant now);
  // The job does not want its planned starts any more. True when it had one.
  bool remove(JobId job);
  // Those of its elements that are not pending any more.
  bool remove_unwanted(const Job& job);
  void remove(ElementKey element);
  const std::map<ElementKey, PlannedStart>& plans() const { return plans_; }
  const PlannedStart* find(ElementKey element) const;
  // The nodes of its plan before the last clear(): where it had better start.
  // Null: had none.
  const std::set<NodeId>* nodes_before(ElementKey element) const;
  std::uint32_t planned_in(const std::string& queue) const;

  // Books the earliest time at which all groups fit at once. Null when no end
  // that is known of makes room.
  const PlannedStart* plan(const Present& present, const PlanRequest& request);
  // Books places chosen by somebody else (for all groups, in their order) from `at` on, instead of
  // what is planned for the element. They are being freed for it.
  void book(const Present& present, const PlanRequest& request, const FreedRoom& room);
  bool is_booked_by_others(NodeId node, ElementKey element) const;
  // Whether a member that fits on the node now may stay there until `end`, as far as others than
  // the element itself are concerned.
  bool allows(const Present& present, const Group& group, const NodeFree& node, Instant end,
              ElementKey element) const;

 private:
  struct Booking {
    ElementKey element;
    Instant from;
    Instant until;
    std::shared_ptr<const JobTerms> terms;
    std::uint32_t group = 0;
    bool late = false;
    // Whether what would be there from `at` to `end` is out of its way.
    bool is_after(Instant at, Instant end) const {
      return from - at >= (end - at) * (late ? kLatePart : 1);
    }
    const Group& need() const { return terms->groups[group]; }
  };
  struct Candidate {
    Instant ready;
    NodeId node;
  };
  struct Span {
    Instant from;
    Duration time;
    Instant latest;  // Of interest.
  };
  class Profile;

  using Plans = std::map<ElementKey, PlannedStart>;
  Plans::iterator erase(Plans::iterator plan);
  PlannedStart& enter(const Present& present, const PlanRequest& request, Instant at,
                      const std::vector<std::vector<NodeId>>& places);
  const std::vector<Booking>& bookings(NodeId node) const;
  std::optional<Instant> ready_on(const Present& present, const PlanRequest& request,
                                  const Group& group, const NodeFree& node, Span span) const;
  std::vector<Candidate> ready_nodes(const Present& present, const PlanRequest& request,
                                     std::uint32_t group, Span span,
                                     const std::set<NodeId>& taken) const;
  std::vector<NodeId> choose(ElementKey element, std::vector<Candidate>& ready,
                             std::size_t wanted) const;
  // The nodes of all groups, group by group, when every one of them is ready at
  // `at`.
  std::optional<std::vector<std::vector<NodeId>>> nodes_at(const Present& present,
                                                           const PlanRequest& request,
                                                           Instant& at) const;

  struct Timed {
    Instant at;
    std::vector<std::vector<NodeId>> places;  // By group.
  };
  std::optional<Timed> earliest(const Present& present, const PlanRequest& request) const;
  // The same where the topology must be right.
  std::optional<Timed> earliest_near(const Present& present, const PlanRequest& request) const;
  // Whether what is ready there now may not be so later.
  bool is_booked(const Present& present, const std::vector<std::vector<NodeId>>& places) const;

  Plans plans_;
  std::map<std::string, std::uint32_t> planned_;  // By queue.
  std::map<NodeId, std::vector<Booking>> booked_;
  struct Before {
    std::set<NodeId> nodes;
    Instant promised;
  };
  std::map<ElementKey, Before> before_;  // Of the plans that went.
};

}  // namespace muster
