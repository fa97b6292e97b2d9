// Dry runs: when a job would start and what would start sooner, worked out by the engine in slices
// between its steps.
#pragma once

#include <functional>
#include <optional>

#include "base/message/request.h"
#include "controller/host/engine_loop.h"

namespace muster {

// Each holds a copy of the books of free capacity.
constexpr int kTrialsMax = 4;

// Tells the answer on the engine's thread, or nothing at once when too many are under way or the
// engine stops.
void try_start(EngineLoop& engine, const Requester& who, const JobSpec& spec,
               std::function<void(std::optional<TrialReply>)> tell);

}  // namespace muster
