// The command itself: what it prints and how it ends.
#include <fstream>
#include <string>

#include "tests/support/gpusim.h"
#include "tests/unit/sim_replay/trace_text.h"

namespace muster {
namespace {

GpusimEnded ended_of(const std::string& arguments) { return gpusim("replay " + arguments); }

TEST(GpusimReplay, PrintsOneObject) {
  const TraceText file(kFourJobs);
  const GpusimEnded ended = ended_of("--format philly --file " + file.path() +
                                     " --days 1 --nodes 1 --gpus-per-node 4 --policy easy --json");
  EXPECT_EQ(ended.status, 0);
  const std::string expected =
      R"({"policy":"easy","jobs":4,"mean_wait_s":52.5,"p95_wait_s":120.0,"mean_completion_s":)"
      R"(155.0,"p99_completion_s":320.0,"utilisation":0.0022,"wide_p95_wait_s":0.0,)"
      R"("max_wait_s":120.0,"seconds":)";
  EXPECT_EQ(ended.printed.substr(0, expected.size()), expected);
}

TEST(GpusimReplay, ReportsForPeople) {
  const TraceText file(kFourJobs);
  const GpusimEnded ended =
      ended_of("--file " + file.path() + " --nodes 1 --gpus-per-node 4 --policy easy");
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.printed.find("Jobs:         4\n"), std::string::npos) << ended.printed;
  EXPECT_NE(ended.printed.find("the longest 2m\n"), std::string::npos) << ended.printed;
}

TEST(GpusimReplay, DrawsTheSameChartAgain) {
  const TraceText file(kFourJobs);
  const auto drawn = [&](const std::string& ending) {
    const std::string chart = file.path() + ending;
    EXPECT_EQ(
        ended_of("--file " + file.path() + " --nodes 1 --gpus-per-node 4 --chart " + chart).status,
        0);
    std::ifstream in(chart);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    std::remove(chart.c_str());
    return text;
  };
  const std::string svg = drawn(".svg");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("GPUs in use, % of all"), std::string::npos);
  EXPECT_EQ(drawn(".svg"), svg);
  EXPECT_NE(drawn(".html").find(svg), std::string::npos);
  EXPECT_EQ(ended_of("--file " + file.path() + " --chart x.png").status, 64);
  EXPECT_EQ(
      ended_of("--file " + file.path() + " --nodes 1 --gpus-per-node 4 --chart /nonexistent/x.svg")
          .status,
      69);
}

TEST(GpusimReplay, NamesTheBadLine) {
  const TraceText file(std::string(kFourJobs) + "2017-10-09 00:00:40,200.0,one,200.0,a\n");
  const GpusimEnded ended = ended_of("--file " + file.path() + " --json");
  EXPECT_EQ(ended.status, 65);
  EXPECT_EQ(ended.printed, "gpusim: " + file.path() + ":6: 'one' is not a number of GPUs\n");
}

TEST(GpusimReplay, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ended_of("--file x --policy best").status, 64);
  EXPECT_EQ(ended_of("--file x --nodes 0").status, 64);
  EXPECT_EQ(ended_of("--json").status, 64);
  EXPECT_EQ(ended_of("--file x --order attained").status, 64);  // At which cost?
  EXPECT_EQ(ended_of("--file x --order submit --preempt-cost 60").status, 64);
  EXPECT_EQ(ended_of("--file x --policy easy --preempt-cost 60").status, 64);
  EXPECT_EQ(ended_of("--file /nonexistent").status, 69);
}

}  // namespace
}  // namespace muster
