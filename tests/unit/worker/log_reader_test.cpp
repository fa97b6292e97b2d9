// Logs through the worker: bytes at an offset, waiting at the end, the end itself.
#include <gtest/gtest.h>

#include <fstream>

#include "base/message/codec.h"
#include "rig.h"

namespace muster::testing {
namespace {

class Logs : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.launcher->log_path = rig.folder.path() + "/job.out";
    write("hello ");
    rig.launcher->state_of(key_of(1)).phase = LocalPhase::kRunning;
    rig.start_worker();
    ASSERT_TRUE(rig.turn_until(
        [&] { return !rig.controller->bulk_route.empty() && !rig.controller->hellos.empty(); }));
  }
  void write(const std::string& text) {
    std::ofstream(rig.folder.path() + "/job.out", std::ios::app) << text;
  }
  void ask(LogAsk what) {
    what.number = ++number;
    if (what.key == AttemptKey{}) what.key = key_of(1);
    ASSERT_TRUE(rig.controller->bulk->socket->send(rig.controller->bulk_route, encode(what)).ok());
  }
  LogAnswer answer() {
    EXPECT_TRUE(rig.turn_until([&] {
      for (const LogAnswer& one : rig.controller->log_answers) {
        if (one.number == number) return true;
      }
      return false;
    }));
    for (const LogAnswer& one : rig.controller->log_answers) {
      if (one.number == number) return one;
    }
    return {};
  }
  void end_attempt() {
    LocalState state = rig.launcher->state_of(key_of(1));
    state.phase = LocalPhase::kEnded;
    rig.launcher->say(state);
    const std::size_t before = rig.controller->reports.size();
    ASSERT_TRUE(rig.turn_until([&] { return rig.controller->reports.size() > before; }));
  }
  WorkerRig rig;
  std::uint64_t number = 0;
};

LogAsk at(std::uint64_t offset, std::uint32_t wait_ms = 0, std::uint32_t bytes = 1000) {
  LogAsk ask;
  ask.offset = offset;
  ask.wait_ms = wait_ms;
  ask.bytes_max = bytes;
  return ask;
}

TEST_F(Logs, BytesAtAnOffset) {
  ask(at(0, 0, 0));
  LogAnswer reply = answer();
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.path, rig.launcher->log_path);
  ask(at(2));
  reply = answer();
  EXPECT_EQ(reply.data, "llo ");
  EXPECT_FALSE(reply.end);
  ask(at(0, 0, 3));
  EXPECT_EQ(answer().data, "hel");
  ask(at(1000));
  EXPECT_EQ(answer().data, "");
  ask(at(UINT64_MAX));
  EXPECT_EQ(answer().data, "");
}

TEST_F(Logs, AFollowerWaitsForMore) {
  ask(at(6, 5000));
  rig.turn_for(200);
  EXPECT_TRUE(rig.controller->log_answers.empty());
  write("world");
  EXPECT_EQ(answer().data, "world");
  ask(at(11, 300));
  const LogAnswer nothing = answer();
  EXPECT_EQ(nothing.data, "");
  EXPECT_FALSE(nothing.end);
}

TEST_F(Logs, TheEndIsToldWithTheLastBytes) {
  ask(at(6, 10000));
  rig.turn_for(100);
  end_attempt();
  const LogAnswer last = answer();
  EXPECT_TRUE(last.end);
  ask(at(0));
  const LogAnswer whole = answer();
  EXPECT_EQ(whole.data, "hello ");
  EXPECT_TRUE(whole.end);
  ask(at(0, 0, 2));
  EXPECT_FALSE(answer().end);
}

TEST_F(Logs, ManyFollowersAreServed) {
  for (int i = 0; i < 500; ++i) ask(at(6, 10000));
  rig.turn_for(200);
  write("x");
  EXPECT_TRUE(rig.turn_until([&] { return rig.controller->log_answers.size() == 500; }));
  for (const LogAnswer& one : rig.controller->log_answers) EXPECT_EQ(one.data, "x");
}

TEST_F(Logs, WhatTheLauncherDoesNotHaveIsAnError) {
  rig.launcher->log_path.clear();
  LogAsk other = at(0);
  other.key = key_of(99);
  ask(other);
  EXPECT_EQ(answer().error, "no such output");
}

TEST_F(Logs, OutputThatIsNotThereYetIsWaitedFor) {
  const std::string path = rig.launcher->log_path;
  rig.launcher->log_path.clear();
  LogAsk errors = at(0, 5000);
  errors.errors = true;
  ask(errors);
  rig.turn_for(300);
  EXPECT_TRUE(rig.controller->log_answers.empty());
  rig.launcher->log_path = path;
  EXPECT_EQ(answer().data, "hello ");
}

TEST_F(Logs, WithoutALauncherTheAnswerSaysSo) {
  rig.launcher.reset();
  rig.turn_for(300);
  LogAsk other = at(0);
  other.key = key_of(98);
  ask(other);
  EXPECT_NE(answer().error.find("launcher"), std::string::npos);
}

}  // namespace
}  // namespace muster::testing
