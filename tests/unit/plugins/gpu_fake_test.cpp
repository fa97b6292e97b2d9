// Simulated GPUs: what a file may say.
#include <gtest/gtest.h>

#include "plugin_rig.h"

namespace muster::testing {
namespace {

Result<std::vector<GpuFacts>> list(const std::string& toml) {
  return list_gpus(call_of(built("plugins/muster_gpu_fake.so"), file_with(toml)));
}

std::string problem(const std::string& toml) {
  const auto gpus = list(toml);
  return gpus.ok() ? "" : gpus.error().message;
}

TEST(GpuFake, ListsWhatTheFileSays) {
  const auto gpus = list(R"(
name = "n1"
[[gpu]]
type = "h100"
memory_mib = 81920
count = 2
numa = 1
clique = 3
devices = ["/dev/null", "/dev/zero"]
[[gpu]]
type = "t4"
memory_mib = 16384
uuid = "GPU-mine"
broken = "Xid 79"
)");
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 3U);
  EXPECT_EQ((*gpus)[0].uuid, "GPU-fake-n1-0");
  EXPECT_EQ((*gpus)[1].type, "h100");
  EXPECT_EQ((*gpus)[1].memory_mib, 81920U);
  EXPECT_EQ((*gpus)[1].numa_node, 1U);
  EXPECT_EQ((*gpus)[1].clique, 3U);
  EXPECT_EQ((*gpus)[1].device_path, "/dev/zero");
  EXPECT_EQ((*gpus)[1].minor, 5U);
  EXPECT_EQ((*gpus)[2].uuid, "GPU-mine");
  EXPECT_EQ((*gpus)[2].index, 2U);
  EXPECT_EQ((*gpus)[2].state, DeviceState::kQuarantined);
  EXPECT_EQ((*gpus)[2].state_reason, "Xid 79");
}

TEST(GpuFake, TwoFilesNeverShareUuids) {
  const std::string toml = "[[gpu]]\ntype = \"a100\"\nmemory_mib = 1\n";
  EXPECT_NE((*list(toml))[0].uuid, (*list(toml))[0].uuid);
  EXPECT_TRUE(list("")->empty());
}

TEST(GpuFake, WrongFilesAreRefusedWithTheLine) {
  EXPECT_NE(problem("[[gpu]]\ntype = \"H100\"\nmemory_mib = 1\n").find("line 2"),
            std::string::npos);
  EXPECT_NE(problem("[[gpu]]\ntype = \"h100\"\n").find("needs memory_mib"), std::string::npos);
  EXPECT_NE(problem("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1\ncount = -1\n").find("line 4"),
            std::string::npos);
  EXPECT_NE(problem("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1\ncount = 257\n"), "");
  EXPECT_NE(problem("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1\nmemoy = 1\n").find("memoy"),
            std::string::npos);
  EXPECT_NE(problem("gpus = 4\n").find("unknown key"), std::string::npos);
  EXPECT_NE(problem("[gpu]\ntype = \"h100\"\n"), "");
  EXPECT_NE(problem("[[gpu]\n").find("line 1"), std::string::npos);
  EXPECT_NE(problem("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1\ndevices = [\"/etc/passwd\"]\n")
                .find("no character device"),
            std::string::npos);
  EXPECT_NE(problem("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1\nuuid = \"x\"\n[[gpu]]\ntype = "
                    "\"h100\"\nmemory_mib = "
                    "1\nuuid = \"x\"\n")
                .find("twice"),
            std::string::npos);
  EXPECT_FALSE(list_gpus(call_of(built("plugins/muster_gpu_fake.so"), "/nonexistent.toml")).ok());
}

}  // namespace
}  // namespace muster::testing
