// The transitions of an attempt on its node.
#include "worker/core/held_attempt.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

HeldAttempt at(HeldPhase phase) {
  HeldAttempt attempt{{JobId{1}, Element{0}, AttemptNo{1}}, phase, Epoch{1}, {}, {}};
  if (phase == HeldPhase::kEnded) attempt.record.emplace();
  return attempt;
}

TEST(HeldAttempt, OnlyGoesForward) {
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      HeldAttempt held = at(static_cast<HeldPhase>(from));
      const bool legal = advance(held, at(static_cast<HeldPhase>(to)));
      EXPECT_EQ(legal, to >= from) << from << " to " << to;
      EXPECT_EQ(held.phase, static_cast<HeldPhase>(legal ? to : from));
    }
  }
}

TEST(HeldAttempt, AnEndIsNeverRewritten) {
  HeldAttempt held = at(HeldPhase::kEnded);
  HeldAttempt other = held;
  other.record->cause.exit_status = 3;
  EXPECT_TRUE(advance(held, other));
  EXPECT_EQ(held.record->cause.exit_status, 0);
}

}  // namespace
}  // namespace muster
