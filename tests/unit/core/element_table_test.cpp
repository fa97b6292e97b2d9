// The table of an array's elements against a plain map; copies keep what they were.
#include "controller/core/element_table.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/types/rng.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

struct Plain {
  std::uint32_t attempts = 0;
  bool ended = false;
};
using PlainMap = std::map<std::uint32_t, Plain>;

void expect_same(const ElementTable& table, const PlainMap& plain) {
  PlainMap found;
  table.for_each({}, [&](Element element, const ElementRecord& record) {
    EXPECT_TRUE(found.emplace(element.value, Plain{record.attempts, false}).second);
    return true;
  });
  std::optional<Element> before;
  table.for_each_ended({}, [&](Element element, const EndedElement& ended) {
    EXPECT_TRUE(!before || *before < element);
    before = element;
    EXPECT_TRUE(found.emplace(element.value, Plain{ended.attempts, true}).second);
    return true;
  });
  ASSERT_EQ(found.size(), plain.size());
  ASSERT_EQ(table.size(), plain.size());
  for (const auto& [index, one] : plain) {
    ASSERT_EQ(found.at(index).attempts, one.attempts) << index;
    ASSERT_EQ(found.at(index).ended, one.ended) << index;
    ASSERT_EQ(table.find(Element{index}) != nullptr, !one.ended);
    ASSERT_EQ(table.find_ended(Element{index}) != nullptr, one.ended);
  }
}

TEST(ElementTable, IsAMapAndItsCopiesDoNotChange) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Rng rng(seed);
    ElementTable table;
    PlainMap plain;
    std::vector<std::pair<ElementTable, PlainMap>> copies;
    const std::uint32_t spread = seed % 2 == 0 ? 300 : 1000000;
    const auto kind = std::make_shared<const EndKind>();
    for (int i = 0; i < 2000; ++i) {
      const auto index = static_cast<std::uint32_t>(rng.below(spread));
      Plain& one = plain[index];
      if (!one.ended) {
        one.attempts = static_cast<std::uint32_t>(i + 1);
        one.ended = rng.chance(400);
        if (one.ended)
          table.put_ended(Element{index}, {kind, {}, {}, {}, {}, one.attempts});
        else
          table.take(Element{index}).attempts = one.attempts;
      }
      if (rng.chance(10)) copies.emplace_back(table, plain);
    }
    expect_same(table, plain);
    for (const auto& [copy, then] : copies) expect_same(copy, then);
  }
}

TEST(ElementTable, GoesOnFromAnElement) {
  ElementTable table;
  for (const std::uint32_t index : {0U, 63U, 64U, 4095U, 4096U, 999999U})
    table.take(Element{index}).attempts = index;
  std::vector<std::uint32_t> seen;
  table.for_each(Element{64}, [&](Element element, const ElementRecord&) {
    seen.push_back(element.value);
    return element.value < 4096;
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{64, 4095, 4096}));
}

// What a reader's copy of the job shows stays as it was when it was taken.
TEST(ElementTable, AJobsCopyStaysWhatItWas) {
  World world;
  world.begin();
  world.add_node("n1", World::inventory("1", 8));
  NewJob job = World::job(1, 1);
  job.spec.array.ranges = {{0, 99, 1}};
  const JobId id = world.submitted(job);
  world.pass();
  const Job copy(*world.engine.cluster().find_job(id));
  for (std::uint32_t i = 0; i < 8; ++i) {
    const AttemptKey key{id, Element{i}, AttemptNo{1}};
    world.report("n1", key, AttemptPhase::kPrepared);
    world.report("n1", key, AttemptPhase::kEnded, World::ended(CauseKind::kExited, 3));
  }
  world.pass();
  EXPECT_EQ(copy.count(ElementState::kActive), 8U);
  EXPECT_EQ(copy.state_of(Element{3}), ElementState::kActive);
  EXPECT_FALSE(copy.find_ending(Element{3}).has_value());
  const Job& now = *world.engine.cluster().find_job(id);
  EXPECT_EQ(now.count(ElementState::kEnded), 8U);
  EXPECT_EQ(now.find_record(Element{3}), nullptr);
  EXPECT_EQ(now.find_ending(Element{3})->cause.exit_status, 3);
  EXPECT_EQ(now.last_attempt(Element{3})->nodes.size(), 1U);
  EXPECT_EQ(now.attempts(Element{3}), 1U);
  EXPECT_EQ(now.state_of(Element{8}), ElementState::kActive);
}

}  // namespace
}  // namespace muster
