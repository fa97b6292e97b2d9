// Job traces of other clusters: who asked for how many GPUs when, and how long it ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

enum class TraceFormat : std::uint8_t { kPhilly, kSwf, kSacct, kMuster };

struct TraceJob {
  Instant submitted;  // From the beginning of the window.
  Duration run;
  std::uint32_t gpus = 0;
  std::uint32_t owner = 0;  // Philly: the virtual cluster; else the user. Numbered as they come.
  std::string name;         // Empty: the trace tells none.
};

// The part of a trace that is replayed.
struct TraceWindow {
  Duration from;  // After the first submission of all.
  Duration length;
  std::uint32_t gpus_max = 0;  // Jobs that ask for more are left out.
};

constexpr std::size_t kTraceJobsMax = 10'000'000;
constexpr std::uint32_t kTraceGpusMax = 100'000;  // Of one job.
constexpr Duration kTraceRunMax = days(3650);

std::optional<TraceFormat> trace_format_of(std::string_view name);

// philly: a csv file with a header and the columns submission (2017-10-09 07:01:55, UTC), seconds
// run, GPUs, GPU-seconds and virtual cluster. swf: the Standard Workload Format; processors are
// taken for GPUs, and jobs that never ran are left out. sacct: see sacct_trace.h; what has no GPUs,
// did not run or has not ended is left out. muster: see job_log_trace.h. In the order of
// submission, then of lines. A line that is not understood fails with `file:line: …`.
Result<std::vector<TraceJob>> read_trace(const std::string& path, TraceFormat format,
                                         const TraceWindow& window);

}  // namespace muster
