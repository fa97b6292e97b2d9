// What a configuration must be to be applied, and how one from the file goes together with what
// gpuadmin set at run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "controller/core/cluster.h"
#include "controller/core/command.h"

namespace muster {

// One line about the first thing that is wrong.
Result<void> check_config(const ClusterConfig& config);

// What is wrong with whom the QOS may stop: of which one, and what.
struct QosFlaw {
  std::size_t index = 0;
  std::string text;
};
std::optional<QosFlaw> qos_flaw(const std::vector<QosConfig>& all);

// Of a tree of accounts without a circle: nobody has two quotas of a queue, also not through the
// accounts above.
Result<void> check_quotas(const ClusterConfig& config);

// kConflict: a job in the queue needs a queue, account or QOS that `next` has no more.
Result<void> check_in_use(const Cluster& cluster, const ClusterConfig& next);

// What is odd, but may be meant.
std::vector<std::string> config_warnings(const ClusterConfig& config);

// The file's, but for what gpuadmin set or removed at run time, which stays as it is: a note for
// each such object that the file describes otherwise.
ClusterConfig join_run_time(const ClusterConfig& now, ClusterConfig file,
                            std::vector<std::string>& notes);

}  // namespace muster
