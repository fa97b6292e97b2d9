// The NVML plugin against a library that stands in for the driver's.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "plugin_rig.h"
#include "plugins/gpu_nvml/gpu_type.h"

namespace muster::testing {
namespace {

Result<std::vector<GpuFacts>> list(const char* machine) {
  ::setenv("STANDIN_NVML", machine, 1);
  ::setenv("MUSTER_LIBNVML", built("tests/libstandin_nvml.so").c_str(), 1);
  PluginCall call = call_of(built("plugins/muster_gpu_nvml.so"), "");
  if (std::string(machine) == "hang") call.deadline = milliseconds(500);
  return list_gpus(call);
}

TEST(GpuNvml, AMachineWithSwitches) {
  const auto gpus = list("hgx");
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 8U);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const GpuFacts& gpu = (*gpus)[i];
    EXPECT_EQ(gpu.index, i);
    EXPECT_EQ(gpu.minor, i);  // The library's order is the reverse of the bus's.
    EXPECT_EQ(gpu.type, "h100");
    EXPECT_EQ(gpu.memory_mib, 81559U);
    EXPECT_EQ(gpu.clique, 0U);
    EXPECT_EQ(gpu.numa_node, i < 4 ? 0U : 1U);
  }
  EXPECT_EQ((*gpus)[0].uuid, "GPU-00000020-0000");
}

TEST(GpuNvml, BridgedPairs) {
  const auto gpus = list("bridge");
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 4U);
  EXPECT_EQ((*gpus)[0].clique, (*gpus)[1].clique);
  EXPECT_EQ((*gpus)[2].clique, (*gpus)[3].clique);
  EXPECT_NE((*gpus)[0].clique, (*gpus)[2].clique);
}

TEST(GpuNvml, WithoutNvlinkEveryGpuIsAlone) {
  const auto gpus = list("plain");
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 2U);
  EXPECT_EQ((*gpus)[0].type, "t4");
  EXPECT_NE((*gpus)[0].clique, (*gpus)[1].clique);
}

TEST(GpuNvml, ALostGpuIsMissing) {
  const auto gpus = list("lost");
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  EXPECT_EQ(gpus->size(), 7U);
}

TEST(GpuNvml, ADriverInTroubleIsAnError) {
  const auto broken = list("broken");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("gpu 0: Unknown Error"), std::string::npos);
  const auto hanging = list("hang");
  ASSERT_FALSE(hanging.ok());
  EXPECT_NE(hanging.error().message.find("may hang"), std::string::npos);
  EXPECT_FALSE(
      list_gpus(call_of(built("plugins/muster_gpu_nvml.so"), "/nonexistent/libnvidia-ml.so")).ok());
  EXPECT_FALSE(list_gpus(call_of(built("plugins/muster_gpu_nvml.so"), "libm.so.6")).ok());
}

TEST(GpuNvml, TypesAreShort) {
  const std::pair<const char*, const char*> cases[] = {
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA A100-SXM4-80GB", "a100"},
      {"NVIDIA H200", "h200"},
      {"NVIDIA L40S", "l40s"},
      {"Tesla T4", "t4"},
      {"Tesla V100-SXM2-16GB", "v100"},
      {"NVIDIA GeForce RTX 4090", "rtx4090"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
      {"NVIDIA RTX A6000", "a6000"},
      {"NVIDIA GeForce GTX 1080 Ti", "gtx1080ti"},
      {"NVIDIA GH200 480GB", "gh200"},
      {"NVIDIA B200", "b200"},
      {"", "gpu"},
      {"NVIDIA", "gpu"}};
  for (const auto& [name, type] : cases) EXPECT_EQ(nvml::gpu_type(name), type) << name;
}

}  // namespace
}  // namespace muster::testing
