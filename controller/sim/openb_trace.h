// The nodes and pods of the Alibaba GPU trace of 2023 ("openb"), as the FGD paper (USENIX ATC'23)
// uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct OpenbNode {
  std::uint32_t cpu_milli = 0;
  std::uint64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::string model;
  auto operator<=>(const OpenbNode&) const = default;
};

struct OpenbPod {
  std::uint32_t cpu_milli = 0;
  std::uint64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpu_milli = 0;      // Of each GPU; 1000 when several are asked for, 0 when none.
  std::vector<std::string> models;  // Any of them; empty: any at all.
  auto operator<=>(const OpenbPod&) const = default;
  std::uint64_t milli() const { return std::uint64_t{gpus} * gpu_milli; }
};

struct OpenbTrace {
  std::string workload;  // The pod list's name without folder, prefix and ending.
  std::vector<OpenbNode> nodes;
  std::vector<OpenbPod> pods;
  std::uint64_t capacity_milli() const;
};

// Every complaint names file and line.
Result<OpenbTrace> read_openb(const std::string& nodes_path, const std::string& pods_path);

}  // namespace muster
