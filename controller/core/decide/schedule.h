// One scheduling pass: who starts where, in turn. Passes that stop at their budget go on where they
// stopped, until a round through the line is done. The first jobs that do not fit have their start
// planned; those behind them start as far as no planned start suffers.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "controller/core/command.h"
#include "controller/core/decide/board.h"
#include "controller/core/decide/place.h"

namespace muster {

constexpr std::uint32_t kLooksPerPassMax = 2048;   // Jobs looked at, also those passed over.
constexpr std::uint32_t kNodesPerPassMax = 20000;  // Looked at while placing.
constexpr std::uint32_t kMembersPerPassMax = 512;  // Placed.
// Ends come late and turns change with time alone: a whole round is due at least so often.
constexpr Duration kRoundEvery = seconds(30);
constexpr Duration kScoreEvery = seconds(30);  // Scores are counted anew, some lanes in each pass.
constexpr std::size_t kLanesPerPassMax = 500;
constexpr std::size_t kForeseenPerPassMax = 500;  // Nodes whose ends are predicted anew.

// Where a round that is not over goes on. A whole round looks at every shape; one that follows it
// while nothing came free needs to look at what is new in line only. A shape that did not fit is
// not tried again in the same round, whatever comes free meanwhile: another one follows.
struct PassCursor {
  using Candidate = std::pair<Turn, LaneId>;
  std::vector<Candidate> heap;  // The turn that comes first on top.
  bool open = false;
  std::uint64_t round = 0;             // Number of the last whole round.
  std::uint64_t round_generation = 0;  // Of the ledger when the last whole round began.
  Instant round_at;
  std::optional<Turn> planned_last;  // Of the starts planned in this round.
  std::set<ShapeId> unplannable;     // No time is known at which they fit: not asked again in it.
  // Whom nothing can be stopped for in this round, where the order is that of service: all who ask
  // for the same from one owner's quota and with one QOS.
  std::set<std::tuple<ShapeId, std::string, std::string>> roomless;
  std::optional<ElementKey> squeezing;  // The next pass looks whom to stop for it.
  Instant scored_at;
  LaneId score_next = 0;           // 0: all are scored.
  std::optional<NodeId> foreseen;  // Whose ends are predicted anew next. Null: all are.
  bool is_due(Instant now) const { return now - round_at >= kRoundEvery; }
};

struct PassDesk {
  const Cluster& cluster;
  Board& board;
  Instant now;
  // All apply what they are told to the cluster and the board at once.
  std::function<void(AttemptStarted)> start;
  std::function<void(FreedRoom)> free_room;
  std::function<void(AttemptKey victim, ElementKey preemptor)> preempt;
};

// True when another pass should follow: this one stopped at its budget, or capacity came free
// behind its back.
bool run_pass(PassDesk& desk, const PassBudget& budget, PassCursor& cursor);

// The job's next element that may start now: pending, not backing off, within the array's own
// limit.
std::optional<Element> next_startable(const Job& job, Instant now);

// The nodes that stay avoided: all that failed the element, or none when the rest cannot do.
std::set<NodeId> avoided_nodes(const Cluster& cluster, const Ledger& ledger, const Job& job,
                               Element element);

}  // namespace muster
