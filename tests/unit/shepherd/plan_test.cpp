// What ranks are to run: words, environment, files.
#include "worker/shepherd/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/order/sample_order.h"

namespace muster {
namespace {

Launch sample_launch() {
  Launch launch;
  launch.common = testing::sample_common();
  launch.node = testing::sample_node("");
  launch.go = testing::sample_go();
  launch.script_path = "/spool/17.3.2-train.sh";
  return launch;
}

std::string value(const TaskPlan& plan, std::string_view name) {
  const auto is_it = [&](const std::string& entry) {
    return entry.compare(0, name.size() + 1, std::string(name) + "=") == 0;
  };
  EXPECT_LE(std::count_if(plan.environment.begin(), plan.environment.end(), is_it), 1) << name;
  return std::string(variable(plan.environment, name));
}

TEST(Pattern, EveryLetter) {
  Launch launch = sample_launch();
  launch.common.job_name = "a/b";
  EXPECT_EQ(expand_pattern("%j-%A_%a-%x-%u-%N-%n-%t-%r", launch, 5), "17-17_3-a_b-kim-n2-1-5-2");
  EXPECT_EQ(expand_pattern("100%%-%q-%", launch, 0), "100%-%q-%");
  EXPECT_EQ(expand_pattern("dir/%j", launch, 0), "dir/17");
}

TEST(Environment, SplitsAndLeavesOut) {
  using namespace std::literals;
  const auto entries = split_environment(
      "A=1\0B=x=y\0=bad\0nothing\0A=2\0RANK=3\0MUSTER_ARRAY_TASK_ID=1\0"
      "BASH_FUNC_f%%=() { :\n}\0E="sv);
  EXPECT_EQ(entries, (std::vector<std::string>{"A=1", "B=x=y", "BASH_FUNC_f%%=() { :\n}", "E="}));
  EXPECT_TRUE(split_environment("").empty());
}

TEST(Plan, RanksOfTheSecondNode) {
  const auto plans = plan_tasks(sample_launch(), {"PATH=/bin", "OMP_NUM_THREADS=7"});
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_EQ(plans[2].rank, 6U);
  EXPECT_EQ(value(plans[2], "RANK"), "6");
  EXPECT_EQ(value(plans[2], "LOCAL_RANK"), "2");
  EXPECT_EQ(value(plans[2], "WORLD_SIZE"), "9");
  EXPECT_EQ(value(plans[2], "NODE_RANK"), "1");
  EXPECT_EQ(value(plans[2], "MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(value(plans[2], "MASTER_PORT"), "20001");
  EXPECT_EQ(value(plans[2], "MUSTER_PORTS"), "20001,20002");
  EXPECT_EQ(value(plans[2], "OMP_NUM_THREADS"), "7");
  EXPECT_EQ(value(plans[2], "CUDA_VISIBLE_DEVICES"), "GPU-1,GPU-2");
  EXPECT_EQ(value(plans[2], "MUSTER_ARRAY_TASK_ID"), "3");
  EXPECT_EQ(value(plans[2], "MUSTER_NODELIST"), "n[1-2],n3.site");
  EXPECT_EQ(plans[2].output.path, "/home/kim/run/out-17-6.txt");
  EXPECT_FALSE(plans[2].output.shared);
  EXPECT_EQ(plans[2].argv, (std::vector<std::string>{"/spool/17.3.2-train.sh", "--lr", "0.1", ""}));
}

TEST(Plan, DevicesBehindAFilterAndBoundOneByOne) {
  Launch launch = sample_launch();
  launch.filtered = true;
  EXPECT_EQ(value(plan_tasks(launch, {})[0], "CUDA_VISIBLE_DEVICES"), "0,1");
  launch.common.launch.gpu_bind = GpuBind::kSingle;
  const auto plans = plan_tasks(launch, {});
  EXPECT_EQ(value(plans[0], "CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(value(plans[1], "CUDA_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(value(plans[1], "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  launch.node.devices.clear();
  EXPECT_EQ(value(plan_tasks(launch, {})[0], "CUDA_VISIBLE_DEVICES"), "");
}

TEST(Plan, InterfacesOnlyWhenConfiguredAndTheUserWins) {
  Launch launch = sample_launch();
  EXPECT_EQ(value(plan_tasks(launch, {})[0], "NCCL_SOCKET_IFNAME"), "");
  launch.nccl_interface = "ib0";
  launch.gloo_interface = "ib0";
  EXPECT_EQ(value(plan_tasks(launch, {})[0], "NCCL_SOCKET_IFNAME"), "=ib0");
  EXPECT_EQ(value(plan_tasks(launch, {})[0], "GLOO_SOCKET_IFNAME"), "ib0");
  const auto plans = plan_tasks(launch, {"NCCL_SOCKET_IFNAME=eth"});
  EXPECT_EQ(value(plans[0], "NCCL_SOCKET_IFNAME"), "eth");
  EXPECT_EQ(value(plans[0], "NCCL_COMM_ID"), "");
}

TEST(Plan, ModesAndTheirProcesses) {
  Launch launch = sample_launch();
  launch.common.launch.mode = LaunchMode::kScript;
  EXPECT_EQ(launch.processes(), 0U);
  launch.node.member = 0;
  EXPECT_EQ(launch.processes(), 1U);
  EXPECT_EQ(value(plan_tasks(launch, {})[0], "RANK"), "");
  launch.common.launch.mode = LaunchMode::kTorchrun;
  launch.node.member = 1;
  const auto plans = plan_tasks(launch, {});
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].argv[0], "torchrun");
  EXPECT_EQ(plans[0].argv[6], "17.3.2");
  EXPECT_EQ(plans[0].argv[10], "10.0.0.1:20001");
}

TEST(Plan, OnlyTheFirstMemberWritesAFileThatNodesWouldShare) {
  Launch launch = sample_launch();
  launch.common.launch.output = "all-%j.txt";
  EXPECT_EQ(plan_tasks(launch, {})[0].output.path, "");
  launch.node.member = 0;
  EXPECT_EQ(plan_tasks(launch, {})[1].output.path, "/home/kim/run/all-17.txt");
  EXPECT_TRUE(plan_tasks(launch, {})[1].output.shared);
  launch.common.launch.output = "/scratch/%%N-%N";
  launch.node.member = 1;
  EXPECT_EQ(plan_tasks(launch, {})[0].output.path, "/scratch/%N-n2");
  launch.common.launch.output = "/scratch/%%N";
  EXPECT_EQ(plan_tasks(launch, {})[0].output.path, "");
  launch.common.launch.output.clear();
  launch.node.member = 0;
  EXPECT_EQ(plan_tasks(launch, {})[0].output.path, "/home/kim/run/muster-17_3.out");
}

}  // namespace
}  // namespace muster
