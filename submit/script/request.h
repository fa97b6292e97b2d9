// From options to the groups of nodes that a job asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/resources.h"
#include "base/types/result.h"
#include "submit/script/arguments.h"

namespace muster {

struct NodeRequest {
  std::vector<Group> groups;
  std::uint32_t cpus_per_task = 1;  // The least of any group's.
  std::uint64_t nodes = 1;          // At least.
};

// One group, or one for each --group, which holds options as on a command line and takes what it
// does not say from the options beside it. program begins every error. kInvalid in one line when
// they contradict one another.
Result<NodeRequest> request_nodes(const Arguments& options, const std::string& program,
                                  LaunchMode launch);

}  // namespace muster
