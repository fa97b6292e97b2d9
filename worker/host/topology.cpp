// Asking hwloc.
#include "worker/host/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "base/types/text.h"

namespace muster {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Loaded = std::unique_ptr<hwloc_topology, Destroy>;

Result<Loaded> load(const std::string& source) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorCode::kUnavailable, "hwloc does not start");
  Loaded topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // What asks GPUs may hang; the GPU plugin does that, in a process of its own.
  for (const char* name : {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"})
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
  const bool is_file = source != "auto";
  if (is_file && hwloc_topology_set_xml(raw, source.c_str()) != 0) {
    return fail(ErrorCode::kInvalid, "[resources] topology: " + escape_for_terminal(source) +
                                         " cannot be read; write one with lstopo FILE.xml, or say "
                                         "\"auto\" or \"none\"");
  }
  if (hwloc_topology_load(raw) != 0) {
    return fail(is_file ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
                "[resources] topology: " + escape_for_terminal(source) + ": hwloc cannot read it");
  }
  return topology;
}

std::uint32_t numa_of(const hwloc_obj* object) {
  const int first = object == nullptr ? -1 : hwloc_bitmap_first(object->nodeset);
  return first < 0 ? 0 : static_cast<std::uint32_t>(first);
}

CpuSet cpus_of(hwloc_const_bitmap_t set) {
  CpuSet cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
    cpus.push_back(static_cast<std::uint32_t>(cpu));
  return cpus;
}

std::vector<CpuMachine::Core> cores_of(hwloc_topology_t topology, std::uint32_t reserved) {
  const hwloc_obj_type_t type =
      hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<CpuMachine::Core> cores;
  for (hwloc_obj* core = hwloc_get_next_obj_by_type(topology, type, nullptr); core != nullptr;
       core = hwloc_get_next_obj_by_type(topology, type, core)) {
    CpuSet cpus = cpus_of(core->cpuset);
    if (!cpus.empty()) cores.push_back({std::move(cpus), numa_of(core)});
  }
  std::sort(cores.begin(), cores.end());
  std::size_t left_out = 0;
  std::size_t first = 0;
  while (first < cores.size() && left_out < reserved) left_out += cores[first++].cpus.size();
  cores.erase(cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(first));
  return cores;
}

void read_distances(hwloc_topology_t topology, CpuMachine& machine) {
  unsigned count = 1;
  hwloc_distances_s* found = nullptr;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &found,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0)
    return;
  for (unsigned from = 0; from < found->nbobjs; ++from) {
    for (unsigned to = 0; to < found->nbobjs; ++to) {
      machine.distances[{found->objs[from]->os_index, found->objs[to]->os_index}] =
          static_cast<std::uint32_t>(found->values[from * found->nbobjs + to]);
    }
  }
  hwloc_distances_release(topology, found);
}

std::vector<Hca> hcas_of(hwloc_topology_t topology) {
  std::vector<Hca> hcas;
  for (hwloc_obj* device = hwloc_get_next_osdev(topology, nullptr); device != nullptr;
       device = hwloc_get_next_osdev(topology, device)) {
    if (device->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS || device->name == nullptr)
      continue;
    hcas.push_back({device->name, numa_of(hwloc_get_non_io_ancestor_obj(topology, device))});
  }
  return hcas;
}

}  // namespace

Result<Topology> read_topology(const std::string& source, std::uint32_t cpus_reserved) {
  Topology result;
  if (source == "none") return result;
  const Result<Loaded> topology = load(source);
  if (!topology) return topology.error();
  result.machine.cores = cores_of(topology->get(), cpus_reserved);
  read_distances(topology->get(), result.machine);
  result.hcas = hcas_of(topology->get());
  return result;
}

}  // namespace muster
