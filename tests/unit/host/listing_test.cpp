// What lists say that the state does not hold as such.
#include "controller/host/listing.h"

#include <gtest/gtest.h>

#include "controller/host/reservation_rows.h"

namespace muster {
namespace {

Group group_of(std::uint32_t nodes_min, std::uint32_t nodes_max, std::uint32_t tasks) {
  Group group;
  group.nodes_min = nodes_min;
  group.nodes_max = nodes_max;
  group.tasks_per_node = tasks;
  return group;
}

TEST(NodeOfRank, CountsThroughTheGroups) {
  const std::vector<Group> groups{group_of(2, 2, 4), group_of(1, 1, 1), group_of(2, 2, 2)};
  const std::vector<std::size_t> expected{0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 4};
  for (std::uint32_t rank = 0; rank < expected.size(); ++rank)
    EXPECT_EQ(node_of_rank(groups, 5, rank), expected[rank]) << rank;
  EXPECT_EQ(node_of_rank(groups, 5, 13), std::nullopt);
  EXPECT_EQ(node_of_rank(groups, 4, 0), std::nullopt);  // Fewer nodes than it can have had.
}

TEST(NodeOfRank, OneGroupMayHaveAnySize) {
  const std::vector<Group> groups{group_of(1, 4, 2), group_of(1, 1, 3)};
  EXPECT_EQ(node_of_rank(groups, 4, 5), 2U);
  EXPECT_EQ(node_of_rank(groups, 4, 6), 3U);
  EXPECT_EQ(node_of_rank({group_of(1, 4, 2), group_of(1, 4, 2)}, 4, 0), std::nullopt);
  EXPECT_EQ(node_of_rank({}, 0, 0), std::nullopt);
}

TEST(ReservedNodes, ShowWhatIsOnOrComesNext) {
  const WallTime now{hours(1000).us};
  Reservation course;
  course.name = "course";
  course.nodes = {"n1", "n2"};
  course.start = WallTime{hours(999).us};
  course.duration = hours(2);
  course.accounts = {"lab"};
  Reservation fan = course;
  fan.name = "fan";
  fan.nodes = {"n2"};
  fan.maintenance = true;
  Reservation later = fan;
  later.name = "later";
  later.nodes = {"n1", "n3"};
  later.start = WallTime{hours(1010).us};
  Reservation over = later;
  over.name = "over";
  over.start = WallTime{hours(10).us};
  const std::vector<Reservation> all{course, fan, later, over};
  const ReservedNodes reserved(all, now);
  const auto shown = [&](const std::string& name, const std::string& state) {
    NodeRow row;
    row.name = name;
    row.state = state;
    reserved.fill(row);
    return row.state + " " + row.reservation;
  };
  EXPECT_EQ(shown("n1", "up"), "reserved course");
  EXPECT_EQ(shown("n1", "drained"), "drained course");
  EXPECT_EQ(shown("n2", "up"), "maintenance fan");
  EXPECT_EQ(shown("n3", "up"), "up later");
  EXPECT_EQ(shown("n4", "up"), "up ");
  const std::vector<ReservationRow> rows = reservation_rows(all, now);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].state, "active");
  EXPECT_EQ(rows[0].nodes, "n[1-2]");
  EXPECT_EQ(rows[0].end, WallTime{hours(1001).us});
  EXPECT_EQ(rows[2].state, "waiting");
  EXPECT_EQ(rows[3].state, "over");
}

}  // namespace
}  // namespace muster
