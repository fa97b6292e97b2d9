// Facts of the machine.
#include "worker/host/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace muster {
namespace {

TEST(Machine, MemoryFromMeminfo) {
  EXPECT_EQ(*memory_total_mib("MemTotal:       16384000 kB\nMemFree: 1 kB\n"), 16000U);
  EXPECT_EQ(*memory_total_mib("MemTotal:  16384000 kB\nHugetlb:   1024000 kB\n"), 15000U);
  EXPECT_FALSE(memory_total_mib("").ok());
  EXPECT_FALSE(memory_total_mib("MemTotal: lots").ok());
}

TEST(Machine, AddressesOfLoopback) {
  EXPECT_EQ(*interface_address("lo"), "127.0.0.1");
  EXPECT_EQ(*address_towards("tcp://127.0.0.1:7300"), "127.0.0.1");
  EXPECT_FALSE(interface_address("nosuch0").ok());
  EXPECT_FALSE(address_towards("udp://127.0.0.1:1").ok());
  EXPECT_FALSE(address_towards("tcp://:1").ok());
}

TEST(Machine, HasCpusAndMemory) {
  WorkerConfig config;
  config.controller = "tcp://127.0.0.1:7300";
  const auto machine = read_machine(config, "0.1.0");
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_GT(machine->cpus, 0U);
  EXPECT_GT(machine->memory_mib, 0U);
  EXPECT_FALSE(machine->kernel.empty());
  EXPECT_FALSE(boot_id().empty());
  config.cpus_reserved = 100000;
  EXPECT_FALSE(read_machine(config, "0.1.0").ok());
}

TEST(Machine, IncarnationsRise) {
  char folder[] = "/tmp/muster-incarnation-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const auto next = next_incarnation(folder);
    ASSERT_TRUE(next.ok());
    EXPECT_GT(*next, last);
    last = *next;
  }
  EXPECT_FALSE(next_incarnation("/nonexistent/folder").ok());
  ::unlink((std::string(folder) + "/incarnation").c_str());
  ::rmdir(folder);
}

}  // namespace
}  // namespace muster
