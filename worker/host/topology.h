// The cores, NUMA nodes and network adapters of this machine, by hwloc.
#pragma once

#include <string>
#include <vector>

#include "base/types/result.h"
#include "worker/core/cpu_book.h"

namespace muster {

struct Hca {
  std::string name;  // "mlx5_0"
  std::uint32_t numa = 0;
};

struct Topology {
  CpuMachine machine;
  std::vector<Hca> hcas;  // In PCI bus order.
};

// source: "auto" for this machine, less what this process may not use; "none" for nothing; else a
// file that lstopo wrote (XML), for hardware that is not there. The first cores with so many CPUs
// in all are left to the system. kInvalid when the file cannot be read.
Result<Topology> read_topology(const std::string& source, std::uint32_t cpus_reserved);

}  // namespace muster
