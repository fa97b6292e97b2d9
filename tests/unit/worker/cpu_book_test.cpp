// Cores of attempts: nearest first, whole, and never two attempts on one.
#include "worker/core/cpu_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/types/cpu_list.h"
#include "base/types/rng.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttemptKey key_of(std::uint64_t job) { return {JobId{job}, Element{0}, AttemptNo{1}}; }

// Sockets of `cores` cores with two threads, numbered as Linux does: first threads first.
CpuMachine machine_of(std::uint32_t sockets, std::uint32_t cores, std::uint32_t threads = 2) {
  CpuMachine machine;
  const std::uint32_t all = sockets * cores;
  for (std::uint32_t i = 0; i < all; ++i) {
    CpuSet cpus;
    for (std::uint32_t t = 0; t < threads; ++t) cpus.push_back(i + t * all);
    machine.cores.push_back({cpus, i / cores});
  }
  return machine;
}

std::vector<std::string> texts(const std::vector<CpuSet>& sets) {
  std::vector<std::string> all;
  for (const CpuSet& set : sets) all.push_back(to_cpu_list(set));
  return all;
}

TEST(CpuBook, RanksGetCoresNearTheirGpus) {
  CpuBook book;
  book.set_machine(machine_of(2, 4));
  EXPECT_EQ(book.machine().cpus_per_core(), 2U);
  EXPECT_THAT(texts(book.take(key_of(1), {8, {{1}, {0}, {1}, {0}}})),
              ElementsAre("4,12", "0,8", "5,13", "1,9"));
  EXPECT_THAT(texts(book.take(key_of(2), {8, {{1}}})), ElementsAre("2-3,6-7,10-11,14-15"));
}

TEST(CpuBook, AProcessOfTwoNodesGetsCoresOfBoth) {
  CpuBook book;
  book.set_machine(machine_of(2, 4));
  EXPECT_THAT(texts(book.take(key_of(1), {8, {{0, 1}}})), ElementsAre("0-1,4-5,8-9,12-13"));
}

TEST(CpuBook, WithoutGpusItTakesTheSmallestRoomThatDoes) {
  CpuBook book;
  book.set_machine(machine_of(2, 4));
  book.hold(key_of(9), {0, 8});
  EXPECT_THAT(texts(book.take(key_of(1), {6, {{}}})), ElementsAre("1-3,9-11"));
  EXPECT_THAT(texts(book.take(key_of(2), {2, {{}}})), ElementsAre("4,12"));
}

TEST(CpuBook, FartherNodesComeWhenTheNearAreFull) {
  CpuBook book;
  CpuMachine machine = machine_of(3, 2, 1);
  machine.distances[{0, 1}] = 30;
  machine.distances[{0, 2}] = 20;
  book.set_machine(machine);
  EXPECT_THAT(texts(book.take(key_of(1), {3, {{0}}})), ElementsAre("0-1,4"));
}

TEST(CpuBook, CoresAreSharedOutWhole) {
  CpuBook book;
  book.set_machine(machine_of(1, 4));
  EXPECT_THAT(texts(book.take(key_of(1), {6, {{0}, {0}}})), ElementsAre("0-1,4-5", "2,6"));
  EXPECT_THAT(texts(book.take(key_of(2), {2, {{0}}})), ElementsAre("3,7"));
}

TEST(CpuBook, MoreRanksThanCoresShareThem) {
  CpuBook book;
  book.set_machine(machine_of(1, 4));
  EXPECT_THAT(texts(book.take(key_of(1), {4, {{0}, {0}, {0}}})),
              ElementsAre("0-1,4-5", "0-1,4-5", "0-1,4-5"));
}

TEST(CpuBook, NoneIsItsOwnWhenTooFewAreFree) {
  CpuBook book;
  book.set_machine(machine_of(1, 4));
  EXPECT_FALSE(book.take(key_of(1), {6, {{0}}}).empty());
  EXPECT_THAT(book.take(key_of(2), {4, {{0}}}), IsEmpty());
  EXPECT_THAT(texts(book.take(key_of(3), {2, {{0}}})), ElementsAre("3,7"));
  book.drop(key_of(1));
  EXPECT_THAT(texts(book.take(key_of(2), {4, {{0}}})), ElementsAre("0-1,4-5"));
}

TEST(CpuBook, WhatTheLauncherSaysIsHeldThroughARestart) {
  CpuBook book;
  book.set_machine(machine_of(1, 4));
  book.hold(key_of(1), {0, 1, 4, 5});
  EXPECT_THAT(texts(book.take(key_of(1), {4, {{0}}})), ElementsAre("0-1,4-5"));
  EXPECT_THAT(texts(book.take(key_of(2), {2, {{0}}})), ElementsAre("2,6"));
  book.keep_if([](const AttemptKey& key) { return key.job.value == 2; });
  EXPECT_THAT(texts(book.take(key_of(3), {4, {{0}}})), ElementsAre("0-1,4-5"));
}

TEST(CpuBook, NothingIsPinnedWhereNoCoresAreKnown) {
  CpuBook book;
  EXPECT_EQ(book.machine().cpus_per_core(), 1U);
  EXPECT_THAT(book.take(key_of(1), {4, {{0}}}), IsEmpty());
}

TEST(CpuBook, NeverTwoAttemptsOnACore) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    CpuBook book;
    const auto threads = static_cast<std::uint32_t>(rng.between(1, 2));
    const CpuMachine machine = machine_of(static_cast<std::uint32_t>(rng.between(1, 4)),
                                          static_cast<std::uint32_t>(rng.between(1, 8)), threads);
    book.set_machine(machine);
    std::map<std::uint64_t, std::set<std::uint32_t>> held;
    for (std::uint64_t job = 1; job < 40; ++job) {
      if (!held.empty() && rng.chance(300)) {
        book.drop(key_of(held.begin()->first));
        held.erase(held.begin());
      }
      CpuWish wish{static_cast<std::uint32_t>(rng.between(1, 12)), {}};
      for (std::uint64_t r = rng.between(1, 4); r > 0; --r)
        wish.ranks.push_back({static_cast<std::uint32_t>(rng.below(4))});
      std::set<std::uint32_t> mine;
      for (const CpuSet& set : book.take(key_of(job), wish)) mine.insert(set.begin(), set.end());
      if (mine.empty()) continue;
      ASSERT_GE(mine.size(), wish.cpus);
      ASSERT_EQ(mine.size() % threads, 0U);
      for (const auto& [other, theirs] : held) {
        for (const std::uint32_t cpu : theirs) ASSERT_EQ(mine.count(cpu), 0U) << job << other;
      }
      held[job] = mine;
    }
  }
}

}  // namespace
}  // namespace muster
