// The openb experiment on the production search: it packs as well as it must, and always alike. And
// what becomes of traces that are wrong.
#include "controller/sim/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace muster {
namespace {

using ::testing::HasSubstr;

const std::string kTraces = std::string(MUSTER_SOURCE_DIR) + "/tests/replay/traces/openb/";
const std::string kNodes = kTraces + "openb_node_list_gpu_node.csv";
const std::string kPods = kTraces + "openb_pod_list_default.csv";

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

OpenbTrace small_trace() {
  OpenbTrace trace;
  trace.nodes = {{8000, 65536, 2, "A"}, {8000, 65536, 2, "B"}, {8000, 65536, 0, ""}};
  trace.pods = {{1000, 1024, 1, 500, {}}, {1000, 1024, 1, 1000, {"A"}}, {2000, 2048, 2, 1000, {}}};
  return trace;
}

TEST(Openb, PacksTheTraceAsWellAsItMust) {
  const Result<OpenbTrace> trace = read_openb(kNodes, kPods);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->workload, "default");
  EXPECT_EQ(trace->nodes.size(), 1213U);
  EXPECT_EQ(trace->pods.size(), 8152U);
  EXPECT_EQ(trace->capacity_milli(), 6212000U);
  const OpenbResult result = run_openb(*trace, OpenbPolicy::kMuster, {42, 43});
  EXPECT_GE(result.mean(), 95.3);
  EXPECT_LE(result.max(), 100);
}

TEST(Openb, IsAlwaysAlikeForASeed) {
  const OpenbTrace trace = small_trace();
  for (const OpenbPolicy policy :
       {OpenbPolicy::kMuster, OpenbPolicy::kFgd, OpenbPolicy::kBestfit}) {
    const OpenbResult first = run_openb(trace, policy, {1, 20});
    EXPECT_EQ(first.allocated, run_openb(trace, policy, {1, 20}).allocated);
    EXPECT_GT(first.min(), 0);
    EXPECT_LE(first.max(), 100);
  }
}

TEST(Openb, ComparesSeedBySeed) {
  const OpenbResult a{OpenbPolicy::kMuster, {10, 12, 14}};
  const OpenbResult b{OpenbPolicy::kFgd, {9, 10, 13}};
  const PairedDifference difference = paired_difference(a, b);
  EXPECT_NEAR(difference.mean, 4.0 / 3, 1e-9);
  ASSERT_TRUE(difference.half);
  EXPECT_NEAR(*difference.half, 4.303 / 3, 1e-9);  // The deviation is 1/sqrt(3), of three.
  EXPECT_FALSE(paired_difference({OpenbPolicy::kMuster, {1}}, {OpenbPolicy::kFgd, {1}}).half);
}

TEST(Openb, ReadsSeeds) {
  EXPECT_EQ(parse_seeds("42-51")->last, 51U);
  EXPECT_EQ(parse_seeds("7")->last, 7U);
  for (const char* wrong : {"", "-", "5-", "-5", "9-3", "x", "1-2x", "0-99999"})
    EXPECT_FALSE(parse_seeds(wrong)) << wrong;
}

TEST(Openb, NamesTheLineThatIsWrong) {
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
  struct Case {
    const char* rows;
    const char* complaint;
  };
  for (const Case& wrong :
       {Case{"a,1,1,1,500\nb,1,1,1\n", "bad.csv:3: 4 fields"},
        Case{"a,1,1,1,x\n", "bad.csv:2: gpu_milli is \"x\""},
        Case{"a,1,1,1,1001\n", "at most 1000"}, Case{"a,-1,1,1,500\n", "bad.csv:2: cpu_milli"},
        Case{"a,1,1,1,0\n", "bad.csv:2: a GPU of which nothing is asked"},
        Case{"a,1,1,1,\x1b[2J\n", "\\x1b"}, Case{"a,1,1,0,0\n", "no pod asks for a GPU"},
        Case{"", "bad.csv:2: no rows"}}) {
    const Result<OpenbTrace> trace = read_openb(kNodes, write_file("bad.csv", header + wrong.rows));
    ASSERT_FALSE(trace) << wrong.rows;
    EXPECT_THAT(trace.error().message, HasSubstr(wrong.complaint));
    EXPECT_EQ(trace.error().message.find('\n'), std::string::npos);
  }
  const auto missing = read_openb(kNodes, "/nowhere/pods.csv");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace muster
