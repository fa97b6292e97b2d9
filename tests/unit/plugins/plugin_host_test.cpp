// Plugin calls that go wrong: the caller gets an error in time and lives on.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>

#include "plugin_rig.h"

namespace muster::testing {
namespace {

Result<std::vector<GpuFacts>> wish(const char* what, Duration deadline = seconds(20)) {
  PluginCall call = call_of(built("tests/unruly_plugin.so"), what);
  call.deadline = deadline;
  return list_gpus(call);
}

TEST(PluginHost, AHungPluginIsKilledAtTheDeadline) {
  const auto began = std::chrono::steady_clock::now();
  const auto gpus = wish("hang", milliseconds(300));
  ASSERT_FALSE(gpus.ok());
  EXPECT_EQ(gpus.error().code, ErrorCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // Nothing is left to reap.
}

TEST(PluginHost, ACrashIsAnError) {
  EXPECT_NE(wish("crash").error().message.find("signal"), std::string::npos);
}

TEST(PluginHost, ARefusalHasItsReason) {
  EXPECT_NE(wish("refuse").error().message.find("no such luck"), std::string::npos);
}

TEST(PluginHost, LiesAreNotBelieved) {
  EXPECT_FALSE(wish("lie").ok());
  EXPECT_FALSE(wish("flood").ok());
}

TEST(PluginHost, WhatAPluginPrintsIsNotItsAnswer) { EXPECT_TRUE(wish("chatter").ok()); }

TEST(PluginHost, WhatIsNoPluginIsRefused) {
  EXPECT_FALSE(list_gpus(call_of("/nonexistent.so", "")).ok());
  EXPECT_FALSE(list_gpus(call_of(built("tests/libstandin_nvml.so"), "")).ok());
  PluginCall call = call_of(built("tests/unruly_plugin.so"), "");
  call.program = "/nonexistent/program";
  EXPECT_FALSE(list_gpus(call).ok());
}

TEST(PluginHost, PluginsAreFoundBesideTheProgram) {
  const auto path = find_plugin("fake", built("bin/muster-worker"));
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_TRUE(std::filesystem::exists(*path));
  EXPECT_EQ(find_plugin("nosuch", built("bin/muster-worker")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(*find_plugin("/a/b.so", ""), "/a/b.so");
}

}  // namespace
}  // namespace muster::testing
