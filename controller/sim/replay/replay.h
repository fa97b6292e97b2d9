// One trace, one cluster, one policy: the figures that come of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "controller/core/config.h"
#include "controller/sim/replay/chart.h"
#include "controller/sim/replay/engine_run.h"
#include "controller/sim/replay/rehearsal.h"

namespace muster {

enum class ReplayPolicy : std::uint8_t { kFifo, kEasy, kSjfOracle, kMuster };

struct ReplayRequest {
  std::string file;
  TraceFormat format = TraceFormat::kPhilly;
  TraceWindow window;  // Without a length: up to the end of the day of the last submission.
  SimNodes nodes;
  ReplayPolicy policy = ReplayPolicy::kMuster;
  EngineRun engine;  // For kMuster.
  bool charted = false;
};

struct Replay {
  ReplayFigures figures;
  Duration window;
  ChartSeries series;  // Empty unless `charted`.
};

constexpr std::uint32_t kSimNodesMax = 20'000;
constexpr std::uint32_t kSimGpusPerNodeMax = 64;

// "fifo", "easy", "sjf-oracle", "muster".
std::optional<ReplayPolicy> replay_policy_of(std::string_view name);
std::string_view name_of(ReplayPolicy policy);

// Fails when the trace cannot be read, with file and line when a line is bad, or when a job of it
// is too wide for all nodes together.
Result<Replay> replay_trace(const ReplayRequest& request);

// The figures for people, in lines.
std::string report_of(const ReplayFigures& figures);

}  // namespace muster
