// The command itself: what it prints and how it ends.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/unit/sim_replay/trace_text.h"

namespace muster {
namespace {

struct Ended {
  std::string printed;  // Both streams.
  int status = -1;
};

Ended gpusim(const std::string& arguments) {
  Ended ended;
  const std::string line =
      std::string(MUSTER_BINARY_DIR) + "/bin/gpusim replay " + arguments + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  std::array<char, 4096> piece{};
  while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe) != nullptr)
    ended.printed += piece.data();
  ended.status = WEXITSTATUS(pclose(pipe));
  return ended;
}

TEST(GpusimReplay, PrintsOneObject) {
  const TraceText file(kFourJobs);
  const Ended ended = gpusim("--format philly --file " + file.path() +
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
  const Ended ended =
      gpusim("--file " + file.path() + " --nodes 1 --gpus-per-node 4 --policy easy");
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.printed.find("Jobs:         4\n"), std::string::npos) << ended.printed;
  EXPECT_NE(ended.printed.find("the longest 2m\n"), std::string::npos) << ended.printed;
}

TEST(GpusimReplay, DrawsTheSameChartAgain) {
  const TraceText file(kFourJobs);
  const auto drawn = [&](const std::string& ending) {
    const std::string chart = file.path() + ending;
    EXPECT_EQ(
        gpusim("--file " + file.path() + " --nodes 1 --gpus-per-node 4 --chart " + chart).status,
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
  EXPECT_EQ(gpusim("--file " + file.path() + " --chart x.png").status, 64);
  EXPECT_EQ(
      gpusim("--file " + file.path() + " --nodes 1 --gpus-per-node 4 --chart /nonexistent/x.svg")
          .status,
      69);
}

TEST(GpusimReplay, NamesTheBadLine) {
  const TraceText file(std::string(kFourJobs) + "2017-10-09 00:00:40,200.0,one,200.0,a\n");
  const Ended ended = gpusim("--file " + file.path() + " --json");
  EXPECT_EQ(ended.status, 65);
  EXPECT_EQ(ended.printed, "gpusim: " + file.path() + ":6: 'one' is not a number of GPUs\n");
}

TEST(GpusimReplay, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(gpusim("--file x --policy best").status, 64);
  EXPECT_EQ(gpusim("--file x --nodes 0").status, 64);
  EXPECT_EQ(gpusim("--json").status, 64);
  EXPECT_EQ(gpusim("--file /nonexistent").status, 69);
}

}  // namespace
}  // namespace muster
