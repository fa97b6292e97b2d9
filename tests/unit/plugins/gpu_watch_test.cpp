// The watch: tells changes, survives a driver that stops answering and a start while it does not.
#include "worker/host/gpu_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "plugin_rig.h"

namespace muster::testing {
namespace {

class Watch : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster-watch-XXXXXX";
    folder = ::mkdtemp(name);
    say("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1000\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void say(const std::string& toml) {
    std::ofstream(folder + "/draft") << toml;
    std::filesystem::rename(folder + "/draft", folder + "/gpus.toml");
  }
  std::unique_ptr<GpuWatch> start() {
    GpuWatchOptions options;
    options.call = call_of(built("plugins/muster_gpu_fake.so"), folder + "/gpus.toml");
    options.refresh = milliseconds(50);
    options.state_dir = folder;
    return std::make_unique<GpuWatch>(options, [this](std::vector<GpuFacts> gpus) {
      const std::lock_guard lock(mutex);
      told.push_back(std::move(gpus));
      wake.notify_all();
    });
  }
  std::vector<GpuFacts> wait_for(std::size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(
        wake.wait_for(lock, std::chrono::seconds(20), [&] { return told.size() >= count; }));
    return told.empty() ? std::vector<GpuFacts>() : told.back();
  }
  std::string folder;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::vector<GpuFacts>> told;
};

TEST_F(Watch, TellsChangesAndTrouble) {
  const auto watch = start();
  EXPECT_EQ(wait_for(1).size(), 1U);
  say("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1000\ncount = 2\n");
  EXPECT_EQ(wait_for(2).size(), 2U);
  say("not toml at all [");
  const auto trouble = wait_for(3);
  ASSERT_EQ(trouble.size(), 2U);
  EXPECT_EQ(trouble[0].state, DeviceState::kQuarantined);
  EXPECT_FALSE(trouble[0].state_reason.empty());
  say("[[gpu]]\ntype = \"h100\"\nmemory_mib = 1000\ncount = 2\n");
  EXPECT_EQ(wait_for(4)[0].state, DeviceState::kReady);
}

TEST_F(Watch, AStartWithoutTheDriverKnowsWhatWasThere) {
  start();  // Its destructor gives up a call in progress.
  {
    const auto watch = start();
    wait_for(1);
  }
  say("broken [");
  told.clear();
  const auto watch = start();
  const auto gpus = wait_for(1);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].state, DeviceState::kQuarantined);
}

}  // namespace
}  // namespace muster::testing
