// From counts of nodes, tasks, GPUs and CPUs to the groups of a request.
//
// The rule (docs/guide/users.md says it with examples):
//   nodes   as asked; else --tasks over --tasks-per-node, rounded up; else --gpus over
//   --gpus-per-node, which must
//           divide; else one
//   tasks   as asked, spread evenly, the first nodes taking one more where they do not divide; else
//   GPUs over
//           --gpus-per-task; else one a node, or one a GPU when they are launched (--launch tasks,
//           torchrun)
//   GPUs    as asked a node; else --gpus over the nodes, which must divide; else --gpus-per-task
//   times the tasks
//   CPUs    --cpus-per-task times the tasks, or --cpus-per-gpu times the GPUs; without either one
//   for each task or GPU, whichever are more
//   With a range of nodes (2-8) all counts are of each node.
// Counts that contradict one another are refused, never rounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/resources.h"
#include "base/types/result.h"

namespace muster {

struct AskedCounts {
  std::optional<std::uint64_t> nodes;
  std::optional<std::uint64_t> nodes_max;  // Above nodes: as many as there are room for.
  std::optional<std::uint64_t> tasks;
  std::optional<std::uint64_t> tasks_per_node;
  std::optional<std::uint64_t> cpus_per_task;
  std::optional<std::uint64_t> cpus_per_gpu;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> gpus_per_node;
  std::optional<std::uint64_t> gpus_per_task;
  LaunchMode launch = LaunchMode::kScript;
};

struct Shape {
  std::vector<Group> groups;  // One, or two when the tasks do not divide. Counts only.
  std::uint32_t cpus_per_task = 1;
  std::uint64_t nodes = 1;  // At least.
};

// Counts given are at least 1. kInvalid with the sum that does not come out.
Result<Shape> resolve_shape(const AskedCounts& asked);

}  // namespace muster
