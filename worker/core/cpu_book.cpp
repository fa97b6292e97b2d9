// Choosing cores.
#include "worker/core/cpu_book.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace muster {
namespace {

constexpr std::uint32_t kDistanceOwn = 10;
constexpr std::uint32_t kDistanceOther = 20;

using Cores = std::vector<const CpuMachine::Core*>;

std::size_t cpus_in(const Cores& cores, std::uint32_t numa) {
  std::size_t cpus = 0;
  for (const auto* core : cores) cpus += core->numa == numa ? core->cpus.size() : 0;
  return cpus;
}

// For a process without GPUs: the NUMA node with the least room that does, so that larger rooms
// stay; the one with the most when none does.
std::uint32_t snug_node(const Cores& free, std::uint32_t cpus) {
  std::uint32_t snug = 0;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::uint32_t roomy = 0;
  std::size_t most = 0;
  std::set<std::uint32_t> seen;
  for (const auto* core : free) {
    if (!seen.insert(core->numa).second) continue;
    const std::size_t room = cpus_in(free, core->numa);
    if (room >= cpus && room < least) std::tie(snug, least) = std::pair(core->numa, room);
    if (room > most) std::tie(roomy, most) = std::pair(core->numa, room);
  }
  return least == std::numeric_limits<std::size_t>::max() ? roomy : snug;
}

// Takes cores for so many CPUs out of `free`; false when there are not enough.
bool take_near(const CpuMachine& machine, const std::set<std::uint32_t>& near, std::uint32_t cpus,
               Cores& free, CpuSet& taken) {
  std::map<std::uint32_t, std::size_t> had;  // Of the rank's CPUs, by NUMA node.
  for (std::size_t count = 0; count < cpus;) {
    auto best = free.end();
    std::tuple<std::uint32_t, std::size_t> least;
    for (auto it = free.begin(); it != free.end(); ++it) {
      std::uint32_t distance = std::numeric_limits<std::uint32_t>::max();
      for (const std::uint32_t node : near)
        distance = std::min(distance, machine.distance(node, (*it)->numa));
      // Even between the nodes that are as near.
      const std::tuple at{distance, had[(*it)->numa]};
      if (best == free.end() || at < least) std::tie(best, least) = std::pair(it, at);
    }
    if (best == free.end()) return false;
    count += (*best)->cpus.size();
    had[(*best)->numa] += (*best)->cpus.size();
    taken.insert(taken.end(), (*best)->cpus.begin(), (*best)->cpus.end());
    free.erase(best);
  }
  std::sort(taken.begin(), taken.end());
  return true;
}

}  // namespace

std::uint32_t CpuMachine::distance(std::uint32_t from, std::uint32_t to) const {
  const auto found = distances.find({from, to});
  if (found != distances.end()) return found->second;
  return from == to ? kDistanceOwn : kDistanceOther;
}

std::uint32_t CpuMachine::cpus_per_core() const {
  if (cores.empty()) return 1;
  const std::size_t threads = cores.front().cpus.size();
  const bool alike = std::all_of(cores.begin(), cores.end(),
                                 [&](const Core& core) { return core.cpus.size() == threads; });
  return alike ? static_cast<std::uint32_t>(threads) : 1;
}

void CpuBook::set_machine(CpuMachine machine) { machine_ = std::move(machine); }

std::vector<const CpuMachine::Core*> CpuBook::free_cores() const {
  std::set<std::uint32_t> held;
  for (const auto& [key, cpus] : held_) held.insert(cpus.begin(), cpus.end());
  Cores free;
  for (const CpuMachine::Core& core : machine_.cores) {
    const bool is_held = std::any_of(core.cpus.begin(), core.cpus.end(),
                                     [&](std::uint32_t cpu) { return held.count(cpu) != 0; });
    if (!is_held) free.push_back(&core);
  }
  return free;
}

std::vector<CpuSet> CpuBook::take(const AttemptKey& key, const CpuWish& wish) {
  if (const auto held = held_.find(key); held != held_.end())
    return std::vector<CpuSet>(wish.ranks.size(), held->second);
  if (wish.cpus == 0 || wish.ranks.empty()) return {};
  Cores free = free_cores();
  const auto ranks = static_cast<std::uint32_t>(wish.ranks.size());
  const std::uint32_t per_core = machine_.cpus_per_core();
  const std::uint32_t cores = (wish.cpus + per_core - 1) / per_core;
  const bool is_shared = cores < ranks;
  std::vector<std::set<std::uint32_t>> near = wish.ranks;
  if (is_shared) {
    near.resize(1);
    for (const auto& rank : wish.ranks) near[0].insert(rank.begin(), rank.end());
  }
  std::vector<CpuSet> sets(near.size());
  CpuSet all;
  const auto parts = static_cast<std::uint32_t>(near.size());
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint32_t cpus = (cores / parts + (i < cores % parts ? 1 : 0)) * per_core;
    if (near[i].empty()) near[i].insert(snug_node(free, cpus));
    if (!take_near(machine_, near[i], cpus, free, sets[i])) return {};
    all.insert(all.end(), sets[i].begin(), sets[i].end());
  }
  std::sort(all.begin(), all.end());
  held_[key] = std::move(all);
  if (is_shared) sets.resize(ranks, sets[0]);
  return sets;
}

void CpuBook::hold(const AttemptKey& key, const CpuSet& cpus) {
  if (!cpus.empty()) held_[key] = cpus;
}

}  // namespace muster
