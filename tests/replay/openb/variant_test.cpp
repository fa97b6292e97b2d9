// Pod lists drawn from another: as much of a kind as was asked for, and the same each time.
#include "controller/sim/openb_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

using ::testing::HasSubstr;

// 20 pods with a share, 60 with a whole GPU, 10 of them picky, 5 with four GPUs, 10 with none.
OpenbTrace mixed_trace() {
  OpenbTrace trace;
  trace.workload = "mixed";
  trace.nodes = {{64000, 262144, 8, "A"}};
  for (std::uint32_t i = 0; i < 20; ++i) trace.pods.push_back({1000 + i, 1024, 1, 500, {}});
  for (std::uint32_t i = 0; i < 50; ++i) trace.pods.push_back({2000 + i, 1024, 1, 1000, {}});
  for (std::uint32_t i = 0; i < 10; ++i) trace.pods.push_back({3000 + i, 1024, 1, 1000, {"A"}});
  for (std::uint32_t i = 0; i < 5; ++i) trace.pods.push_back({4000 + i, 1024, 4, 1000, {}});
  for (std::uint32_t i = 0; i < 10; ++i) trace.pods.push_back({5000 + i, 1024, 0, 0, {}});
  return trace;
}

OpenbTrace varied(const char* text) {
  const Result<OpenbVariant> variant = parse_variant(text);
  EXPECT_TRUE(variant) << text;
  const Result<OpenbTrace> trace = vary(mixed_trace(), *variant);
  EXPECT_TRUE(trace) << text;
  return *trace;
}

template <class Is>
std::ptrdiff_t count(const OpenbTrace& trace, Is is) {
  return std::count_if(trace.pods.begin(), trace.pods.end(), is);
}

TEST(OpenbVariant, TakesThePlacesOfOtherPodsWithGpus) {
  const OpenbTrace more = varied("share=60");
  EXPECT_EQ(more.workload, "mixed-share60");
  EXPECT_EQ(more.pods.size(), 95U);
  EXPECT_EQ(count(more, [](const OpenbPod& pod) { return pod.gpu_milli == 500; }), 51);
  EXPECT_EQ(count(more, [](const OpenbPod& pod) { return pod.gpus == 0; }), 10);
  const OpenbTrace picky = varied("spec=40");
  EXPECT_EQ(count(picky, [](const OpenbPod& pod) { return !pod.models.empty(); }), 34);
  EXPECT_EQ(picky.pods.size(), 95U);
}

TEST(OpenbVariant, AddsPodsOfSeveralGpusUntilTheyAskForTheirPart) {
  const OpenbTrace trace = varied("multi=50");  // The others ask for 70 GPUs.
  EXPECT_EQ(count(trace, [](const OpenbPod& pod) { return pod.gpus > 1; }), 18);
  EXPECT_EQ(count(trace, [](const OpenbPod& pod) { return pod.gpus <= 1; }), 90);
}

TEST(OpenbVariant, ScalesPodsWithoutGpus) {
  const auto without = [](const OpenbPod& pod) { return pod.gpus == 0; };
  EXPECT_EQ(count(varied("cpu=250"), without), 25);
  EXPECT_EQ(count(varied("cpu=0"), without), 0);
  EXPECT_EQ(varied("cpu=250").pods.size(), 110U);
}

TEST(OpenbVariant, UsesEachPodBeforeAnyTwice) {
  const OpenbTrace trace = varied("cpu=200");
  for (std::uint32_t i = 0; i < 10; ++i)
    EXPECT_GE(count(trace, [&](const OpenbPod& pod) { return pod.cpu_milli == 5000 + i; }), 1);
}

TEST(OpenbVariant, IsAlwaysAlike) {
  EXPECT_EQ(varied("share=60").pods, varied("share=60").pods);
  EXPECT_EQ(varied("multi=50").pods, varied("multi=50").pods);
}

TEST(OpenbVariant, RefusesWhatItCannotDraw) {
  for (const char* wrong : {"", "share", "share=", "share=101", "share=-1", "multi=91", "cpu=1001",
                            "x=1", "share=1x", "=5"})
    EXPECT_FALSE(parse_variant(wrong)) << wrong;
  OpenbTrace plain = mixed_trace();
  plain.pods.resize(20);  // Shares alone.
  for (const char* text : {"multi=20", "spec=20", "cpu=50", "share=50"}) {
    const Result<OpenbTrace> trace = vary(plain, *parse_variant(text));
    if (std::string_view(text) == "cpu=50") {
      EXPECT_TRUE(trace);  // Half of none.
      continue;
    }
    ASSERT_FALSE(trace) << text;
    EXPECT_THAT(trace.error().message, HasSubstr(text));
  }
}

}  // namespace
}  // namespace muster
