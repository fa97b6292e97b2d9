// CowTable against a plain map: publications never change, whatever happens afterwards.
#include "controller/host/cow_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/types/rng.h"

namespace muster {
namespace {

using Model = std::map<std::uint64_t, int>;

Model contents(const CowTable<int>& table, std::uint64_t after = 0) {
  Model model;
  table.for_each(after, [&](std::uint64_t key, const int& value) {
    model[key] = value;
    return true;
  });
  return model;
}

TEST(CowTable, PublicationsStayAsTheyWere) {
  Rng rng(7);
  CowTable<int> table;
  Model model;
  std::vector<std::pair<CowTable<int>, Model>> published;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t key = 1 + rng.below(9000);
    if (rng.below(3) == 0) {
      table.erase(key);
      model.erase(key);
    } else {
      table.set(key, std::make_shared<const int>(i));
      model[key] = i;
    }
    if (i % 1000 == 0) published.emplace_back(table.publish(), model);
  }
  EXPECT_EQ(contents(table), model);
  for (const auto& [copy, then] : published) EXPECT_EQ(contents(copy), then);
}

TEST(CowTable, FindsAndBeginsAfterAKey) {
  CowTable<int> table;
  for (std::uint64_t key = 1; key <= 10000; ++key)
    table.set(key, std::make_shared<const int>(static_cast<int>(key)));
  ASSERT_NE(table.find(4096), nullptr);
  EXPECT_EQ(*table.find(4096), 4096);
  EXPECT_EQ(table.find(10001), nullptr);
  const Model rest = contents(table, 9990);
  EXPECT_EQ(rest.size(), 10U);
  EXPECT_EQ(rest.begin()->first, 9991U);
}

}  // namespace
}  // namespace muster
