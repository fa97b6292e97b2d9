// What a chart shows, of a few jobs that a person can follow.
#include <gtest/gtest.h>

#include "controller/sim/replay/chart.h"

namespace muster {
namespace {

// A window of 240 parts of 10 seconds, and one node of 4 GPUs.
constexpr Duration kWindow = seconds(10 * static_cast<std::int64_t>(kChartPoints));
constexpr SimNodes kNode{1, 4};

Instant at(std::int64_t s) { return Instant{} + seconds(s); }

TEST(Series, CountsUseAndWaiting) {
  const std::vector<TraceJob> jobs{{at(0), seconds(15), 2, 0, {}}, {at(10), seconds(10), 4, 0, {}}};
  const std::vector<muster::Run> runs{{at(0), at(15)}, {at(20), at(30)}};
  const ChartSeries series = series_of(jobs, runs, kNode, kWindow);
  ASSERT_EQ(series.in_use.size(), kChartPoints);
  EXPECT_DOUBLE_EQ(series.in_use[0], 0.5);
  EXPECT_DOUBLE_EQ(series.in_use[1], 0.25);
  EXPECT_DOUBLE_EQ(series.in_use[2], 1);
  EXPECT_DOUBLE_EQ(series.in_use[3], 0);
  EXPECT_DOUBLE_EQ(series.jobs_waiting[0], 0);
  EXPECT_DOUBLE_EQ(series.jobs_waiting[1], 1);
  EXPECT_DOUBLE_EQ(series.gpus_waiting[1], 1);
}

// Owner 1 wants all of the node and gets it; owner 2 wants one GPU and gets none: an even division
// would give it that one, and the other three to owner 1.
TEST(Series, ComparesWithAnEvenDivision) {
  const std::vector<TraceJob> jobs{{at(0), seconds(10), 4, 1, {}}, {at(0), seconds(10), 1, 2, {}}};
  const std::vector<muster::Run> runs{{at(0), at(10)}, {at(10), at(20)}};
  const ChartSeries series = series_of(jobs, runs, kNode, kWindow);
  EXPECT_DOUBLE_EQ(series.fair_mean[0], 0.5);
  EXPECT_DOUBLE_EQ(series.fair_least[0], 0);
  EXPECT_DOUBLE_EQ(series.fair_least[1], 1);
  EXPECT_DOUBLE_EQ(series.fair_mean[5], 1);
}

TEST(Series, DrawsAnEmptyWindow) {
  const std::vector<TraceJob> jobs{{at(-20), seconds(10), 4, 1, {}}};
  const std::vector<muster::Run> runs{{at(-20), at(-10)}};
  const std::string svg = svg_of(series_of(jobs, runs, kNode, kWindow), kWindow, "<&>");
  EXPECT_NE(svg.find("&lt;&amp;>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace muster
