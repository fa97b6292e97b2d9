// What was tried leaves no trace: the books are what they were, and so is what is decided by them.
#include "controller/core/decide/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/types/rng.h"
#include "tests/unit/decide/site.h"

namespace muster {
namespace {

std::string text_of(const NodeFree& node) {
  std::string text = std::to_string(node.id.value) + (node.usable() ? " up" : " away");
  for (const std::uint64_t part : {std::uint64_t{node.node_class}, std::uint64_t{node.cpus_used},
                                   node.memory_mib_used, std::uint64_t{node.gpus_whole}})
    text += " " + std::to_string(part);
  for (const GpuFree& gpu : node.gpus)
    text += " " + std::to_string(gpu.device.value) + "=" + std::to_string(gpu.milli_free);
  return text;
}

std::vector<std::string> books_of(const Ledger& ledger) {
  std::vector<std::string> books{std::to_string(ledger.generation())};
  for (const NodeFree& node : ledger.nodes()) books.push_back(text_of(node));
  for (const NodeClass& node_class : ledger.classes()) {
    for (const auto& bucket : node_class.by_gpus) {
      for (const auto& [cpus, node] : bucket)
        books.push_back(std::to_string(cpus) + " " + std::to_string(node.value));
    }
  }
  return books;
}

Group any_group(Rng& rng) {
  Group group = ask(static_cast<std::uint32_t>(rng.below(4)));
  if (rng.chance(400)) group = ask(1, static_cast<std::uint32_t>(rng.between(1, 9) * 100));
  group.cpus_per_node = static_cast<std::uint32_t>(rng.between(1, 10));
  group.nodes_min = group.nodes_max = static_cast<std::uint32_t>(rng.between(1, 3));
  return group;
}

// Takes and releases at random, and undoes some of it on the way.
void try_things(Site& site, Rng& rng) {
  Trial trial(site.board.ledger);
  std::vector<std::shared_ptr<const Place>> held;
  for (const auto& [key, attempt] : site.cluster.attempts()) held.push_back(attempt.place);
  for (int i = 0; i < 12; ++i) {
    if (!held.empty() && rng.chance(500)) {
      const std::size_t at = rng.below(held.size());
      trial.release(held[at]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (const std::optional<Place> place = site.find(any_group(rng))) {
      trial.take(std::make_shared<const Place>(*place));
    }
  }
  trial.undo_to(rng.below(trial.steps() + 1));
}

class Trials : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Trials, LeaveNoTrace) {
  Rng rng(GetParam());
  std::vector<Machine> machines;
  for (int i = 0; i < 8; ++i) {
    Machine machine{static_cast<std::uint32_t>(rng.between(8, 48)), rng.between(60000, 200000), {}};
    for (std::uint64_t gpu = rng.below(9); gpu > 0; --gpu) machine.gpus.push_back("a");
    machines.push_back(machine);
  }
  Site site(machines);
  for (int round = 0; round < 60; ++round) {
    const JobId job = site.submit(any_group(rng));
    if (rng.chance(800)) site.start(job);
    const auto& attempts = site.cluster.attempts();
    if (attempts.size() > 6) site.end(attempts.begin()->first);
    const Group asked = any_group(rng);
    const std::vector<std::string> before = books_of(site.board.ledger);
    const std::optional<Place> place = site.find(asked);
    try_things(site, rng);
    ASSERT_EQ(books_of(site.board.ledger), before) << "round " << round;
    ASSERT_EQ(site.find(asked), place) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Trials, ::testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace muster
