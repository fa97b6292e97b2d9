// What lists say that the state does not hold as such.
#include "controller/host/listing.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster
