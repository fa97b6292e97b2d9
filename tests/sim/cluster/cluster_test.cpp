// Runs seeds: the fixed ones, fresh ones, those that once failed (tests/sim/seeds), and those with
// a planted bug.
//   MUSTER_SIM_SEED=N    only that seed, with its trace on stderr
//   MUSTER_SIM_FRESH=N   so many fresh seeds (default 20)
//   MUSTER_SIM_FIXED=N   so many fixed ones (default 200)
#include <gtest/gtest.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/sim/cluster/world.h"

namespace muster::sim {
namespace {

constexpr std::uint64_t kCatchWithin = 200;

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

// Everything needed to see it again.
std::string story(std::uint64_t seed, const Verdict& verdict) {
  return "seed " + std::to_string(seed) + ": " + verdict.violation + "\n  plan: " + verdict.plan +
         "\n  again: MUSTER_SIM_SEED=" + std::to_string(seed) + " " + MUSTER_BINARY_DIR +
         "/tests/sim_cluster --gtest_filter=Simulator.OneSeed\n  keep:  echo " +
         std::to_string(seed) + " >> tests/sim/seeds/NAME";
}

bool holds(std::uint64_t seed) {
  const Verdict verdict = run_seed(seed, {});
  EXPECT_EQ(verdict.violation, "") << story(seed, verdict);
  return verdict.violation.empty();
}

void expect_caught(const Planted& planted, const std::string& name) {
  for (std::uint64_t seed = 1; seed <= kCatchWithin; ++seed) {
    const Verdict verdict = run_seed(seed, planted);
    if (verdict.violation.empty()) continue;
    std::printf("%s: caught by seed %llu: %s\n", name.c_str(),
                static_cast<unsigned long long>(seed), verdict.violation.c_str());
    return;
  }
  ADD_FAILURE() << name << " was not caught within " << kCatchWithin << " seeds";
}

TEST(Simulator, OneSeed) {
  const auto seed = number_from("MUSTER_SIM_SEED");
  if (!seed) GTEST_SKIP() << "MUSTER_SIM_SEED is not set";
  const Verdict verdict = run_seed(*seed, {}, true);
  for (const std::string& line : verdict.lines) std::fprintf(stderr, "%s\n", line.c_str());
  EXPECT_EQ(verdict.violation, "") << story(*seed, verdict);
}

TEST(Simulator, FixedSeedsHold) {
  const std::uint64_t count = number_from("MUSTER_SIM_FIXED").value_or(200);
  std::size_t starts = 0;
  std::size_t jobs = 0;
  Duration simulated;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const Verdict verdict = run_seed(seed, {});
    starts += verdict.starts;
    jobs += verdict.acknowledged;
    simulated = simulated + verdict.simulated;
    ASSERT_EQ(verdict.violation, "") << story(seed, verdict);
  }
  std::printf("%llu seeds: %zu submits acknowledged, %zu starts, %lld simulated seconds\n",
              static_cast<unsigned long long>(count), jobs, starts,
              static_cast<long long>(simulated.seconds()));
}

TEST(Simulator, FreshSeedsHold) {
  std::random_device device;
  const std::uint64_t count = number_from("MUSTER_SIM_FRESH").value_or(20);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = (std::uint64_t{device()} << 32U) | device();
    ASSERT_TRUE(holds(seed));
  }
}

TEST(Simulator, SeedsThatOnceFailedHold) {
  const std::filesystem::path folder = std::string(MUSTER_SOURCE_DIR) + "/tests/sim/seeds";
  std::size_t replayed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() == "README.md") continue;
    std::ifstream file(entry.path());
    for (std::uint64_t seed = 0; file >> seed; ++replayed) {
      EXPECT_TRUE(holds(seed)) << "of " << entry.path();
    }
    EXPECT_TRUE(file.eof()) << entry.path() << " holds something that is no seed";
  }
  std::printf("%zu seeds replayed\n", replayed);
}

TEST(Simulator, TheSameSeedIsTheSameTrace) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Verdict first = run_seed(seed, {});
    const Verdict second = run_seed(seed, {});
    EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
    EXPECT_NE(first.hash, run_seed(seed + 1000, {}).hash);
  }
}

TEST(Simulator, CatchesAnAcknowledgementBeforeTheSync) {
  Planted planted;
  planted.acknowledge_before_sync = true;
  expect_caught(planted, "acknowledge before sync");
}

TEST(Simulator, CatchesADoubleStart) {
  Planted planted;
  planted.double_start = true;
  expect_caught(planted, "double start");
}

TEST(Simulator, CatchesALostGrant) {
  Planted planted;
  planted.lost_grant = true;
  expect_caught(planted, "lost grant");
}

}  // namespace
}  // namespace muster::sim
