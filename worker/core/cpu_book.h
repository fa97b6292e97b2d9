// Which cores the attempts of a node have to themselves. How many CPUs each has is the
// controller's to say, which ones is decided here: whole cores, for each rank those nearest to its
// GPUs. Pure; the same calls give the same cores.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/types/ids.h"

namespace muster {

using CpuSet = std::vector<std::uint32_t>;  // Rising, each once.

struct CpuMachine {
  struct Core {
    CpuSet cpus;             // Its hardware threads.
    std::uint32_t numa = 0;  // Number of its NUMA node.
    auto operator<=>(const Core&) const = default;
  };
  std::vector<Core> cores;  // That jobs may use, by their first CPU. Empty: nothing is known.
  // From one NUMA node to another; what is missing is 10 to itself, 20 to others (as ACPI has it).
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> distances;
  auto operator<=>(const CpuMachine&) const = default;

  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const;
  // Threads of each core where all have as many; else 1.
  std::uint32_t cpus_per_core() const;
};

// What an attempt needs on this node.
struct CpuWish {
  std::uint32_t cpus = 0;
  // For each process that is started, the NUMA nodes of its GPUs; none: it has no GPU.
  std::vector<std::set<std::uint32_t>> ranks;
};

class CpuBook {
 public:
  // What attempts have stays theirs.
  void set_machine(CpuMachine machine);
  const CpuMachine& machine() const { return machine_; }

  // For each rank its CPUs, held from now on until drop(). All ranks have the same ones when there
  // are fewer cores than ranks. Empty: there are not so many free cores, so none is its own. The
  // same again for an attempt that has some is what it had, as one set for each rank.
  std::vector<CpuSet> take(const AttemptKey& key, const CpuWish& wish);
  // What the launcher says an attempt has.
  void hold(const AttemptKey& key, const CpuSet& cpus);
  void drop(const AttemptKey& key) { held_.erase(key); }
  // All but those of which that is true are dropped.
  template <class F>
  void keep_if(F&& is_kept) {
    std::erase_if(held_, [&](const auto& entry) { return !is_kept(entry.first); });
  }

 private:
  std::vector<const CpuMachine::Core*> free_cores() const;

  CpuMachine machine_;
  std::map<AttemptKey, CpuSet> held_;
};

}  // namespace muster
