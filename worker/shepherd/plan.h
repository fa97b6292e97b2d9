// What each rank of this node is to run, worked out before anything is forked: words, environment,
// output files. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/order/attempt_files.h"
#include "base/order/order.h"
#include "base/types/result.h"

namespace muster {

// One attempt on this node: its orders and what the node adds.
struct Launch {
  CommonOrder common;
  NodeOrder node;
  GoOrder go;
  std::string script_path;  // Where the script is spooled; empty for a command.
  std::string error_file;   // For TORCHELASTIC_ERROR_FILE; empty: none.
  std::string nccl_interface;
  std::string gloo_interface;
  std::vector<RankPin> pins;  // For each process, or none: anywhere.
  bool filtered = false;      // A device filter hides other jobs' devices, so ours count from 0.

  const OrderMember& member() const { return common.members[node.member]; }
  std::uint32_t processes() const { return processes_of(common, node.member); }
};

// Where a stream goes. An empty path: a file of ours in the attempt's directory.
struct StreamPlan {
  std::string path;
  bool shared = false;  // Several ranks of this node write it.
};

struct TaskPlan {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // KEY=VALUE.
  StreamPlan output;
  StreamPlan errors;
  bool errors_to_output = false;
};

// %j job, %A job, %a element, %x job name, %u user, %N node name, %n index of the node, %t rank, %r
// attempt, %% a percent sign; anything else stays. A '/' in a value becomes '_'.
std::string expand_pattern(std::string_view pattern, const Launch& launch, std::uint32_t rank);

// bytes: KEY=VALUE, each followed by a NUL. Entries without a name, and those that only a running
// job may have, are left out; of a repeated name the first counts, as for getenv.
std::vector<std::string> split_environment(std::string_view bytes);

// Plans of the processes this node runs. environment is split_environment() of the order's.
std::vector<TaskPlan> plan_tasks(const Launch& launch, const std::vector<std::string>& environment);

// The value of name in KEY=VALUE entries; empty when it is not there.
std::string_view variable(const std::vector<std::string>& environment, std::string_view name);

}  // namespace muster
