// One scheduling pass: who starts where, in turn. A job that does not fit does not hold back those
// behind it;
// holding room for it is not decided here yet.
#pragma once

#include <functional>
#include <optional>

#include "controller/core/command.h"
#include "controller/core/decide/board.h"

namespace muster {

constexpr std::uint32_t kLooksPerPassMax = 8192;  // Jobs looked at, also those passed over.

// Where a pass that stopped at its budget goes on.
struct PassCursor {
  std::optional<Turn> resume;
  std::uint64_t round_generation = 0;  // Of the ledger when the round through the line began.
};

struct PassDesk {
  const Cluster& cluster;
  Board& board;
  Instant now;
  std::function<void(AttemptStarted)> start;  // Applies it to the cluster and the board at once.
};

// True when another pass should follow: this one stopped at its budget, or capacity came free
// behind its back.
bool run_pass(PassDesk& desk, const PassBudget& budget, PassCursor& cursor);

// The job's next element that may start now: pending, not backing off, within the array's own
// limit.
std::optional<Element> next_startable(const Job& job, Instant now);
// Where the element would start now; avoids the nodes that failed it while others could do.
std::optional<Place> place_element(const Cluster& cluster, const Ledger& ledger, const Job& job,
                                   Element element);

// The nodes that stay avoided: all that failed the element, or none when the rest cannot do.
std::set<NodeId> avoided_nodes(const Cluster& cluster, const Ledger& ledger, const Job& job,
                               Element element);

}  // namespace muster
