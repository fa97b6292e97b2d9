// Levels of service: doubling, and what has waited too long.
#include "controller/core/decide/attained.h"

#include <gtest/gtest.h>

#include "controller/core/config_check.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster {
namespace {

Service of(std::uint32_t gpus, Duration ran, Duration waited = {}, std::uint32_t nodes = 1) {
  return {gpus, nodes, ran, waited};
}

TEST(Attained, LevelsDoubleByGpuTime) {
  EXPECT_EQ(level_of(of(1, {})), 0);
  EXPECT_EQ(level_of(of(1, kLevelFirst - milliseconds(1))), 0);
  EXPECT_EQ(level_of(of(1, kLevelFirst)), 1);
  EXPECT_EQ(level_of(of(1, kLevelFirst * 2)), 2);
  EXPECT_EQ(level_of(of(1, kLevelFirst * 4)), 3);
  EXPECT_EQ(level_of(of(8, minutes(30))), 3);  // Four hours of a GPU.
  EXPECT_EQ(level_of(of(0, kLevelFirst)), 1);  // Without GPUs as with one.
  EXPECT_EQ(level_of(of(kNodesPerJobMax, days(3650))), kLevelsMax);
}

TEST(Attained, WhatHasWaitedTooLongComesFirst) {
  const Duration over = kServiceWaitMax + seconds(1);
  EXPECT_EQ(level_of(of(1, hours(1), kServiceWaitMax)), 1);
  EXPECT_EQ(level_of(of(1, hours(1), over)), kOverdueLevel);
  EXPECT_EQ(level_of(of(8, {}, kServiceWaitMax, 2)), kOverdueLevel);  // Counts double.
  EXPECT_LT(length_of(of(1, {}, over + seconds(1))), length_of(of(1, {}, over)));
  EXPECT_LT(length_of(of(1, {}, over)), length_of(of(1, {}, {})));
}

TEST(Attained, IsRefusedWhereNobodyCouldGoOn) {
  ClusterConfig config = World::config();
  QueueConfig& queue = config.queues[0];
  queue.order = QueueOrder::kAttained;
  EXPECT_TRUE(check_config(config).ok());
  queue.preempt_mode = PreemptMode::kCancel;
  ASSERT_FALSE(check_config(config).ok());
  EXPECT_EQ(check_config(config).error().message,
            "queue gpu: order = \"attained\" needs preempt_mode = \"requeue\": jobs are stopped to "
            "go on later");
  queue.preempt_mode = PreemptMode::kRequeue;
  queue.planned_starts = 0;
  EXPECT_FALSE(check_config(config).ok());
}

}  // namespace
}  // namespace muster
