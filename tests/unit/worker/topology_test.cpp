// What hwloc says of described machines, and what pins follow from it.
#include "worker/host/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/types/cpu_list.h"
#include "worker/host/machine.h"
#include "worker/host/pinner.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string adapter(const std::string& name, int bus) {
  const std::string b = std::to_string(bus);
  return R"(<object type="Bridge" gp_index="9)" + b +
         R"(" bridge_type="0-1" depth="0" bridge_pci="0000:[0)" + b + "-0" + b +
         R"(]"><object type="PCIDev" gp_index="8)" + b + R"(" pci_busid="0000:0)" + b +
         R"(:00.0" pci_type="0207 [15b3:1017] [15b3:0020] 00" pci_link_speed="15.7">)" +
         R"(<object type="OSDev" gp_index="7)" + b + R"(" name=")" + name +
         R"(" osdev_type="3"/></object></object>)";
}

// Two sockets of two cores of two threads, adapters on each: written as lstopo would.
std::string described_machine() {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_synthetic(topology, "pack:2 [numa] core:2 pu:2");
  hwloc_topology_load(topology);
  char* buffer = nullptr;
  int length = 0;
  hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0);
  std::string xml(buffer);
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  // Behind the cores of each package.
  std::size_t at = 0;
  for (const std::string& devices :
       {adapter("mlx5_0", 1) + adapter("mlx5_1", 2), adapter("mlx5_2", 3)}) {
    at = xml.find("<object type=\"Package\"", at) + 1;
    const std::size_t next = xml.find("<object type=\"Package\"", at);
    const std::size_t end =
        xml.rfind("</object>", next == std::string::npos ? xml.rfind("</object>") - 1 : next);
    xml.insert(end, devices);
  }
  const std::string path = ::testing::TempDir() + "machine." + std::to_string(::getpid()) + ".xml";
  std::ofstream(path) << xml;
  return path;
}

std::vector<std::string> lists_of(const std::vector<RankPin>& pins) {
  std::vector<std::string> texts;
  for (const RankPin& pin : pins) texts.push_back(to_cpu_list(pin.cpus) + " " + pin.hca);
  return texts;
}

struct Orders {
  CommonOrder common;
  NodeOrder node;
};

Orders orders(std::uint64_t job, LaunchMode mode, std::uint32_t tasks, std::uint32_t cpus,
              const std::vector<std::string>& gpus) {
  Orders made;
  made.common.launch.mode = mode;
  made.common.members = {{"n1", 0, tasks, 0}};
  made.node.attempt = {JobId{job}, Element{0}, AttemptNo{1}};
  made.node.cpus = cpus;
  for (const std::string& gpu : gpus) made.node.devices.push_back({gpu, 0, 0, ""});
  return made;
}

std::vector<GpuFacts> four_gpus() {
  std::vector<GpuFacts> gpus(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    gpus[i].uuid = "g" + std::to_string(i);
    gpus[i].index = i;
    gpus[i].numa_node = i / 2;
  }
  return gpus;
}

TEST(Topology, ReadsCoresNumaNodesAndAdapters) {
  const std::string path = described_machine();
  const Result<Topology> topology = read_topology(path, 0);
  ASSERT_TRUE(topology.ok()) << topology.error().message;
  const auto& cores = topology->machine.cores;
  ASSERT_EQ(cores.size(), 4U);
  EXPECT_EQ(cores[1].cpus, (CpuSet{2, 3}));
  EXPECT_EQ(cores[1].numa, 0U);
  EXPECT_EQ(cores[2].numa, 1U);
  EXPECT_LT(topology->machine.distance(0, 0), topology->machine.distance(0, 1));
  ASSERT_EQ(topology->hcas.size(), 3U);
  EXPECT_EQ(topology->hcas[2].name, "mlx5_2");
  EXPECT_EQ(topology->hcas[2].numa, 1U);
  EXPECT_EQ(topology->hcas[0].numa, 0U);
  // Reserved CPUs are whole cores, the first ones.
  const Result<Topology> less = read_topology(path, 1);
  ASSERT_TRUE(less.ok());
  EXPECT_EQ(less->machine.cores.front().cpus, (CpuSet{2, 3}));
  ::unlink(path.c_str());
}

TEST(Topology, ReadsThisMachineAndNone) {
  const Result<Topology> here = read_topology("auto", 0);
  ASSERT_TRUE(here.ok()) << here.error().message;
  EXPECT_FALSE(here->machine.cores.empty());
  EXPECT_TRUE(read_topology("none", 0)->machine.cores.empty());
}

TEST(Topology, NamesAFileThatItCannotRead) {
  const std::string path = ::testing::TempDir() + "nonsense." + std::to_string(::getpid());
  std::ofstream(path) << "<topology>";
  for (const std::string& name : {path, std::string("/nowhere.xml")}) {
    const Result<Topology> topology = read_topology(name, 0);
    ASSERT_FALSE(topology.ok());
    EXPECT_EQ(topology.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(topology.error().message, HasSubstr(name));
  }
  ::unlink(path.c_str());
}

TEST(Topology, JobsGetWholeCores) {
  const std::string path = described_machine();
  const Result<Topology> topology = read_topology(path, 0);
  ASSERT_TRUE(topology.ok());
  ::unlink(path.c_str());
  WorkerConfig config;
  Inventory inventory;
  inventory.cpus = 7;
  give_whole_cores(config, topology->machine, inventory);
  EXPECT_EQ(inventory.cpus, 6U);
  EXPECT_EQ(inventory.cpus_per_core, 2U);
  config.cpus = inventory.cpus = 5;
  inventory.cpus_per_core = 1;
  give_whole_cores(config, topology->machine, inventory);
  EXPECT_EQ(inventory.cpus, 5U);
  EXPECT_EQ(inventory.cpus_per_core, 1U);
}

TEST(Pinner, RanksAreNearTheirGpusAndAdapters) {
  const std::string path = described_machine();
  Pinner pinner(*read_topology(path, 0));
  ::unlink(path.c_str());
  pinner.set_gpus(four_gpus());
  const Orders gang = orders(1, LaunchMode::kTasks, 4, 8, {"g0", "g1", "g2", "g3"});
  EXPECT_THAT(lists_of(pinner.pin(gang.common, gang.node)),
              ElementsAre("0-1 mlx5_0", "2-3 mlx5_1", "4-5 mlx5_2", "6-7 mlx5_2"));
  const Orders late = orders(2, LaunchMode::kTasks, 1, 2, {"g0"});
  EXPECT_THAT(pinner.pin(late.common, late.node), IsEmpty());
  pinner.book().drop(gang.node.attempt);
  EXPECT_THAT(lists_of(pinner.pin(late.common, late.node)), ElementsAre("0-1 mlx5_0"));
}

TEST(Pinner, SlicesAndTurns) {
  const std::string path = described_machine();
  const Topology topology = *read_topology(path, 0);
  ::unlink(path.c_str());
  const auto pins = [&](const Orders& made) {
    Pinner pinner(topology);
    pinner.set_gpus(four_gpus());
    return lists_of(pinner.pin(made.common, made.node));
  };
  // Two ranks of two GPUs each, and one process for all.
  EXPECT_THAT(pins(orders(1, LaunchMode::kTasks, 2, 4, {"g0", "g1", "g2", "g3"})),
              ElementsAre("0-1 ", "4-5 "));
  EXPECT_THAT(pins(orders(2, LaunchMode::kTorchrun, 1, 4, {"g1", "g2"})), ElementsAre("0-1,4-5 "));
  Orders script = orders(3, LaunchMode::kScript, 1, 2, {"g3"});
  EXPECT_THAT(pins(script), ElementsAre("4-5 mlx5_2"));
  // The other members of a script's job start nothing.
  script.common.members.push_back({"n2", 1, 1, 0});
  script.node.member = 1;
  EXPECT_THAT(pins(script), IsEmpty());
  // More ranks than GPUs: in turn.
  EXPECT_THAT(pins(orders(4, LaunchMode::kTasks, 4, 8, {"g0", "g2"})),
              ElementsAre("0-1 mlx5_0", "4-5 mlx5_2", "2-3 mlx5_0", "6-7 mlx5_2"));
}

}  // namespace
}  // namespace muster
