// What a roll does next, from what the nodes say of themselves.
#include "submit/cli/roll.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const RollRules kRun{"3f2a", false};
const RollRules kReboot{"3f2a", true};

NodeRow node(const std::string& state, const std::string& drain_reason = "") {
  NodeRow row;
  row.name = "n1";
  row.state = state;
  row.connected = state != "suspect";
  row.boot_id = "11111111-aaaa";
  row.drain_reason = drain_reason;
  return row;
}

TEST(RollMark, SurvivesItsText) {
  for (const RollMark& mark : {RollMark{"3f2a", RollPhase::kDraining, "", "new kernel"},
                               RollMark{"a-b", RollPhase::kActing, "11111111-aaaa", "why: because"},
                               RollMark{"x", RollPhase::kDone, "", ""}}) {
    const auto again = parse_roll_mark(to_text(mark));
    ASSERT_TRUE(again) << to_text(mark);
    EXPECT_EQ(again->id, mark.id);
    EXPECT_EQ(again->phase, mark.phase);
    EXPECT_EQ(again->boot, mark.boot.substr(0, 8));
    EXPECT_EQ(again->reason, mark.reason);
  }
  for (const char* text : {"", "roll", "roll 3f2a", "roll 3f2a: sleeping", "new fan", "roll : "})
    EXPECT_FALSE(parse_roll_mark(text)) << text;
}

TEST(Roll, GoesStepByStep) {
  EXPECT_EQ(roll_step(node("up"), kRun), RollStep::kDrain);
  EXPECT_EQ(roll_step(node("maintenance"), kRun), RollStep::kDrain);
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: draining: x"), kRun), RollStep::kAct);
  NodeRow busy = node("drained", "roll 3f2a: draining: x");
  busy.cpus_used = 1;
  EXPECT_EQ(roll_step(busy, kRun), RollStep::kWait);
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: checking: x"), kRun), RollStep::kReturn);
  EXPECT_EQ(roll_step(node("suspect", "roll 3f2a: checking: x"), kRun), RollStep::kWait);
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: failed: x"), kRun), RollStep::kOver);
  NodeRow done = node("up");
  done.reason = "roll 3f2a: done: x";
  EXPECT_EQ(roll_step(done, kRun), RollStep::kOver);
}

TEST(Roll, LeavesAloneWhatIsNotItsOwn) {
  EXPECT_EQ(roll_step(node("drained", "bad fan"), kRun), RollStep::kForeign);
  EXPECT_EQ(roll_step(node("suspect"), kRun), RollStep::kForeign);
  EXPECT_EQ(roll_step(node("drained", "roll beef: acting: x"), kRun), RollStep::kForeign);
  NodeRow done = node("up");
  done.reason = "roll beef: done: x";  // An earlier roll.
  EXPECT_EQ(roll_step(done, kRun), RollStep::kDrain);
}

TEST(Roll, WaitsForAnotherBootId) {
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: acting, boot 11111111: x"), kReboot),
            RollStep::kAct);
  EXPECT_EQ(roll_step(node("suspect", "roll 3f2a: acting, boot 11111111: x"), kReboot),
            RollStep::kWait);
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: acting, boot 22222222: x"), kReboot),
            RollStep::kCheck);
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: checking, boot 11111111: x"), kReboot),
            RollStep::kWait);
  EXPECT_EQ(roll_step(node("drained", "roll 3f2a: checking, boot 22222222: x"), kReboot),
            RollStep::kReturn);
}

TEST(Roll, PutsTheNodeIntoTheCommand) {
  EXPECT_EQ(command_for("ssh {node} reboot # {node}", "n1"), "ssh n1 reboot # n1");
  EXPECT_EQ(command_for("true", "n1"), "true");
}

}  // namespace
}  // namespace muster
