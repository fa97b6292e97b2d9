// gpusim openb itself: what it prints, the same each time, and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>

#include "tests/support/gpusim.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

GpusimEnded ended_of(const std::string& arguments) { return gpusim("openb " + arguments); }

std::string without_seconds(const std::string& text) {
  return std::regex_replace(text, std::regex("\"seconds\":[0-9.]+"), "\"seconds\":0");
}

class OpenbCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    nodes_ = write("nodes.csv",
                   "sn,cpu_milli,memory_mib,gpu,model\n"
                   "a,16000,65536,2,T4\nb,16000,65536,4,A100\nc,8000,32768,2,T4\n");
    pods_ = write("openb_pod_list_few.csv",
                  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
                  "p1,1000,1024,1,300,\np2,1000,1024,1,700,T4\np3,4000,1024,2,1000,\n"
                  "p4,2000,1024,0,0,\np5,1000,1024,1,1000,A100\n");
    lists_ = "--nodes " + nodes_ + " --pods " + pods_;
  }
  static std::string write(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::string nodes_;
  std::string pods_;
  std::string lists_;
};

TEST_F(OpenbCommand, PrintsOneObjectOfEachMeasurementAndComparison) {
  const GpusimEnded ended = ended_of(lists_ + " --seeds 1-8 --compare fgd,bestfit --json");
  ASSERT_EQ(ended.status, 0) << ended.printed;
  const std::regex expected(
      R"(\{"workload":"few","policy":"muster","allocated_percent_mean":[0-9.]+,"min":[0-9.]+,)"
      R"("max":[0-9.]+,"seeds":8,"seconds":[0-9.]+\}\n)"
      R"(\{"workload":"few","policy":"fgd",[^\n]*\n)"
      R"(\{"workload":"few","policy":"muster","against":"fgd","difference_mean":[-0-9.]+,)"
      R"("low_95":[-0-9.]+,"high_95":[-0-9.]+,"verdict":"[a-z ]+"\}\n)"
      R"(\{[^\n]*"policy":"bestfit"[^\n]*\n)"
      R"(\{[^\n]*"against":"bestfit"[^\n]*\n)");
  EXPECT_TRUE(std::regex_match(ended.printed, expected)) << ended.printed;
}

TEST_F(OpenbCommand, PrintsTheSameForTheSameSeedsAndLists) {
  const std::string arguments = lists_ + " --seeds 42-51 --compare fgd --vary multi=40 share=50";
  EXPECT_EQ(without_seconds(ended_of(arguments + " --json").printed),
            without_seconds(ended_of(arguments + " --json").printed));
  EXPECT_EQ(ended_of(arguments).printed, ended_of(arguments).printed);
  EXPECT_NE(without_seconds(ended_of(lists_ + " --seeds 1 --json").printed),
            without_seconds(ended_of(lists_ + " --seeds 2-9 --json").printed));
}

TEST_F(OpenbCommand, PrintsTables) {
  const GpusimEnded ended = ended_of(lists_ + " --seeds 7 --compare fgd --vary cpu=200");
  ASSERT_EQ(ended.status, 0) << ended.printed;
  EXPECT_THAT(ended.printed, HasSubstr("WORKLOAD             POLICY    ALLOTTED"));
  EXPECT_THAT(ended.printed, HasSubstr("few-cpu200           fgd"));
  EXPECT_TRUE(std::regex_search(ended.printed,
                                std::regex("few-cpu200 +muster +fgd +[-+0-9.]+ +- +not shown\n")))
      << ended.printed;  // One seed shows nothing.
}

TEST_F(OpenbCommand, EndsWithOneLineAboutWhatIsWrong) {
  const std::string broken =
      write("broken.csv", "cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,x,1\n");
  struct Case {
    std::string arguments;
    int status;
    std::string line;
  };
  for (const Case& wrong :
       {Case{"--nodes " + nodes_ + " --pods " + broken, 65, "broken.csv:2: num_gpu is \"x\""},
        Case{"--nodes /nowhere --pods " + pods_, 69, "/nowhere: cannot be read"},
        Case{lists_ + " --vary spec=200", 64, "--vary spec=200"},
        Case{lists_ + " --compare muster", 64, "--compare muster"},
        Case{lists_ + " --seeds 9-1", 64, "--seeds"}}) {
    const GpusimEnded ended = ended_of(wrong.arguments);
    EXPECT_EQ(ended.status, wrong.status) << ended.printed;
    EXPECT_THAT(ended.printed, HasSubstr(wrong.line));
    EXPECT_EQ(std::count(ended.printed.begin(), ended.printed.end(), '\n'), 1) << ended.printed;
  }
}

}  // namespace
}  // namespace muster
