// When which nodes are reserved, in engine time: what a job that is not of a reservation must end
// before, and what one that is must stay within. A look at a node costs by the reservations that
// name it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/reservation.h"

namespace muster {

// A start takes its time: a job of a reservation may end so much later than it.
constexpr Duration kOwnEndSlack = minutes(1);
// The wall clock is read at another moment than the engine's: less is no step of it.
constexpr Duration kClockStepMin = milliseconds(500);
// Occurrences of one reservation that a plan looks ahead.
constexpr int kOccurrencesAhead = 8;

// From `from`, until just before `until`.
struct Window {
  Instant from;
  Instant until;
};

struct Conflict {
  const Reservation* reservation = nullptr;
  Window window;
};

// How a job stands to the reservation that it asks for.
enum class OwnState : std::uint8_t {
  kNone,     // It asks for none.
  kOpen,     // It may start now, as far as this is concerned.
  kGone,     // There is no such reservation any more, or it is a maintenance.
  kEarly,    // The next occurrence has not begun.
  kTooLong,  // It would not end within this occurrence; perhaps within another.
};
struct OwnStanding {
  OwnState state = OwnState::kNone;
  std::optional<Window> window;  // The occurrence that is on, or the next one.
};

class Calendar {
 public:
  // The reservations or the nodes are others than before.
  void rebuild(const Cluster& cluster);
  // Once a step. True when a window began, ended or moved since the last time.
  bool refresh(const Cluster& cluster, Instant now, WallTime wall);
  bool empty() const { return rules_.empty(); }
  WallTime wall_of(Instant at) const { return WallTime{at.us + offset_us_}; }
  Instant instant_of(WallTime at) const { return Instant{at.us - offset_us_}; }

  // Whether a job of these terms that starts on the node at `at` and runs to its limit leaves
  // others their windows, and stays within its own.
  bool allows(NodeId node, const JobTerms& terms, Instant at) const;
  // The first window of others that such a job would run into. Null: none.
  std::optional<Conflict> conflict(NodeId node, const JobTerms& terms, Instant at) const;
  // Its start until its limit, with the time that a start may take.
  Window run_of(const JobTerms& terms, Instant at) const;
  // Whether any reservation keeps licences.
  bool keeps_licences() const { return keeps_licences_; }
  // The next windows of those that do, as far as such a job would run into them, the first first.
  // Not of its own.
  std::vector<Conflict> licence_windows(const JobTerms& terms, Instant at) const;
  // The times after `at` when what allows() says of the node may change to yes.
  std::vector<Instant> openings(NodeId node, const JobTerms& terms, Instant at) const;
  bool is_listed(NodeId node) const;

  OwnStanding standing(const Cluster& cluster, const JobTerms& terms, Instant now) const;
  // The nodes that a job of these terms is confined to. Null: it is not confined.
  const std::vector<NodeId>* confines(const JobTerms& terms) const;

 private:
  struct Rule {
    const Reservation* reservation = nullptr;  // The cluster's; a change rebuilds.
    std::vector<NodeId> nodes;                 // Sorted.
  };
  std::optional<Window> window_after(const Reservation& reservation, Instant at) const;
  const Rule* find(const std::string& name) const;
  void find_next_change(Instant now);

  std::vector<Rule> rules_;                          // By name.
  std::vector<std::vector<std::uint32_t>> by_node_;  // Indices of rules, by node id.
  std::int64_t offset_us_ = 0;                       // Wall clock less engine time.
  std::optional<Instant> next_change_;               // A window begins or ends.
  bool is_new_ = true;                               // Not refreshed since it was rebuilt.
  bool keeps_licences_ = false;
  Duration start_time_max_;
};

// Whether the reservation that it asks for does not take jobs of its user and account.
bool is_barred(const Cluster& cluster, const JobFacts& job);
// As Calendar::confines(), by names: for where there is no calendar. Empty: not confined.
std::optional<std::vector<NodeId>> confined_nodes(const Cluster& cluster,
                                                  const std::string& reservation);

}  // namespace muster
