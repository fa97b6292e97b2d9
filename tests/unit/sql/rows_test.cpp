// Events become rows of the right tables and widths.
#include "controller/sql/rows.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

std::size_t rows_in(const FactRows& rows, std::string_view table) {
  for (const SqlSheet& sheet : rows.sheets()) {
    if (sheet.table == table) return sheet.rows();
  }
  ADD_FAILURE() << "no table " << table;
  return 0;
}

TEST(FactRows, EventsWithoutFactsAddNothing) {
  FactRows rows("1");
  rows.add(Record{
      Seq{1},
      Epoch{1},
      {},
      {},
      {ElementsHeld{}, ElementsReleased{}, JobForgotten{}, AttemptStopping{}, SegmentSealed{}}});
  for (const SqlSheet& sheet : rows.sheets()) EXPECT_EQ(sheet.rows(), 0U) << sheet.table;
}

TEST(FactRows, OneRowPerMemberDeviceAndRange) {
  AttemptStarted started;
  started.key = {JobId{1}, Element{0}, AttemptNo{1}};
  for (std::uint32_t node = 0; node < 3; ++node) {
    Member member;
    member.node = NodeId{node};
    member.grants.resize(2);
    member.grants[1].device = DeviceId{1};
    started.place.members.push_back(member);
  }
  ElementsEnded ended;
  ended.job = JobId{1};
  ended.elements = {{0, 3, 1}, {8, 8, 1}};
  FactRows rows("1");
  rows.add(Record{Seq{1}, Epoch{1}, {}, {}, {started, ended}});
  EXPECT_EQ(rows_in(rows, "staged_attempts_started"), 1U);
  EXPECT_EQ(rows_in(rows, "staged_members"), 3U);
  EXPECT_EQ(rows_in(rows, "staged_grants"), 6U);
  EXPECT_EQ(rows_in(rows, "staged_element_ends"), 2U);
}

TEST(FactRows, EveryEventFillsItsTableWhole) {
  NodeReported reported;
  reported.inventory.gpus.resize(2);
  reported.device_ids = {
      DeviceId{1}};  // One fewer than there are GPUs: only what has an id is a fact.
  FactRows rows("1");
  rows.add(Record{Seq{1},
                  Epoch{1},
                  {},
                  {},
                  {EpochBegun{}, ConfigApplied{}, NodeEnrolled{}, reported, NodeStateChanged{},
                   NodeRemoved{}, JobSubmitted{}, JobChanged{}, ElementRequeued{},
                   AttemptLaunched{}, MemberEnded{}, AttemptEnded{}}});
  EXPECT_EQ(rows_in(rows, "staged_device_reports"), 1U);
  const auto filled = std::count_if(rows.sheets().begin(), rows.sheets().end(),
                                    [](const SqlSheet& sheet) { return sheet.rows() != 0; });
  EXPECT_EQ(filled, 13);
  for (const SqlSheet& sheet : rows.sheets()) {
    if (sheet.cells.empty()) continue;
    EXPECT_EQ(sheet.cells.front(), "1");
  }
}

}  // namespace
}  // namespace muster
