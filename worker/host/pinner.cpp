// Which GPUs are whose, and what lies near them.
#include "worker/host/pinner.h"

#include <algorithm>

namespace muster {
namespace {

// As the shepherd shares them out: one for each in turn when each sees its own only, else in
// slices, and in turn when there are more processes than GPUs.
std::vector<std::size_t> devices_of(const CommonOrder& common, std::size_t devices,
                                    std::uint32_t rank, std::uint32_t ranks) {
  if (devices == 0) return {};
  const LaunchSpec& launch = common.launch;
  const bool single = launch.gpu_bind == GpuBind::kSingle && launch.mode == LaunchMode::kTasks;
  if (single || ranks > devices) return {rank % devices};
  std::vector<std::size_t> own;
  for (std::size_t i = rank * devices / ranks; i < (rank + 1) * devices / ranks; ++i)
    own.push_back(i);
  return own;
}

}  // namespace

Pinner::Pinner(Topology topology) : hcas_(std::move(topology.hcas)) {
  book_.set_machine(std::move(topology.machine));
}

// NCCL and UCX find it by themselves; this is for programs that do not.
std::string Pinner::hca_of(const std::vector<const GpuFacts*>& gpus) const {
  if (gpus.size() != 1 || hcas_.empty()) return {};
  const CpuMachine& machine = book_.machine();
  const std::uint32_t numa = gpus[0]->numa_node;
  std::uint32_t least = machine.distance(numa, hcas_[0].numa);
  for (const Hca& hca : hcas_) least = std::min(least, machine.distance(numa, hca.numa));
  std::vector<const Hca*> near;
  for (const Hca& hca : hcas_) {
    if (machine.distance(numa, hca.numa) == least) near.push_back(&hca);
  }
  // Both come in PCI bus order: GPUs and adapters below one switch are neighbours in it.
  std::size_t before = 0;
  std::size_t all = 0;
  for (const GpuFacts& gpu : gpus_) {
    if (gpu.numa_node != numa) continue;
    before += gpu.index < gpus[0]->index ? 1U : 0U;
    ++all;
  }
  return near[before * near.size() / std::max<std::size_t>(all, 1)]->name;
}

std::vector<RankPin> Pinner::pin(const CommonOrder& common, const NodeOrder& node) {
  if (book_.machine().cores.empty()) return {};
  const std::uint32_t ranks = processes_of(common, node.member);
  std::vector<const GpuFacts*> devices;
  for (const OrderDevice& device : node.devices) {
    const auto found = std::find_if(gpus_.begin(), gpus_.end(),
                                    [&](const GpuFacts& gpu) { return gpu.uuid == device.uuid; });
    if (found != gpus_.end()) devices.push_back(&*found);
  }
  CpuWish wish{node.cpus, {}};
  std::vector<RankPin> pins(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<const GpuFacts*> own;
    for (const std::size_t i : devices_of(common, devices.size(), rank, ranks))
      own.push_back(devices[i]);
    std::set<std::uint32_t> near;
    for (const GpuFacts* gpu : own) near.insert(gpu->numa_node);
    wish.ranks.push_back(std::move(near));
    pins[rank].hca = hca_of(own);
  }
  const std::vector<CpuSet> sets = book_.take(node.attempt, wish);
  if (sets.empty()) return {};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) pins[rank].cpus = sets[rank];
  return pins;
}

}  // namespace muster
