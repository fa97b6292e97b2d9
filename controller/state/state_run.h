// A dump of a controller, gone on with: what its engine would start now, and when the rest starts
// if what runs ends as is expected of it. The engine is the controller's own, and so are its
// decisions; only what happens later is made up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "controller/core/event.h"
#include "controller/record/snapshot_store.h"

namespace muster {

// So far ahead is looked, and for so many starts at most.
constexpr Duration kForeseenMax = days(30);
constexpr std::size_t kForeseenStartsMax = 100'000;
constexpr std::uint32_t kNodesAddedMax = 10'000;

// Nodes like one that there is.
struct AddedNodes {
  std::uint32_t count = 0;
  std::string like;
};
// "4xn1": four nodes like n1.
Result<AddedNodes> parse_added_nodes(const std::string& text);

struct StateChanges {
  std::vector<AddedNodes> nodes;
  std::vector<std::string> keys;  // As set_key() takes them.
};

struct ForeseenStart {
  std::string name;
  Duration in;  // From now.
};

struct StateOutcome {
  std::uint64_t digest = 0;             // Of the cluster after the passes of now.
  std::vector<AttemptStarted> started;  // Now.
  std::vector<std::string> places;      // Their nodes, parallel: "n1,n2".
  std::vector<std::string> names;       // And they: "7", or "8_3" of an array.
  std::vector<std::string> stopped;     // Jobs that are stopped now, to make room.
  std::vector<ForeseenStart> later;     // In the order of their starts.
  std::uint64_t waiting = 0;            // That do not start within what is looked at.
  double mean_wait_s = 0;               // From now, of all that start.
  double max_wait_s = 0;
  double utilisation = 0;  // Of all GPUs, from now until the last start.
};

// Fails when a change names what is not there or makes a configuration that is refused.
Result<StateOutcome> run_state(LoadedSnapshot dump, const StateChanges& changes = {});

}  // namespace muster
