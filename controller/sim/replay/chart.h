// A replay as a picture: how much of the cluster was in use, who waited, and how fairly it was
// shared, over the time of the window. SVG, and HTML with the figures beside it; no script, no
// font, nothing loaded from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "controller/sim/replay/rehearsal.h"

namespace muster {

constexpr std::size_t kChartPoints = 240;  // Parts of the window.

// What happened in each part of the window.
struct ChartSeries {
  std::vector<double> in_use;        // Part of all GPU time, 0…1.
  std::vector<double> jobs_waiting;  // Their number, in the mean.
  std::vector<double> gpus_waiting;  // Asked for by them, as a part of all GPUs.
  // What owners got of what an even division would have given them (max-min: who wants less leaves
  // the rest to others), 0…1. 1 where nobody wanted anything.
  std::vector<double> fair_mean;
  std::vector<double> fair_least;
};

ChartSeries series_of(const std::vector<TraceJob>& jobs, const std::vector<Run>& runs,
                      const SimNodes& nodes, Duration window);

std::string svg_of(const ChartSeries& series, Duration window, const std::string& title);
// `report` is shown below the picture as it is.
std::string html_of(const std::string& svg, const std::string& title, const std::string& report);

}  // namespace muster
