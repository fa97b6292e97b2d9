// Whether what a request names exists: a slip of the pen is told from what is only busy.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/resources.h"
#include "base/types/result.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/ledger.h"

namespace muster {

// "; did you mean X?", else "; there are: …", else nothing.
std::string suggestion(const std::string& word, const std::set<std::string>& known);

// "; did you mean X?", else "; <otherwise>".
std::string suggestion_or(const std::string& word, const std::vector<std::string_view>& known,
                          const std::string& otherwise);

// Nodes and features that no node of the cluster has. kNotFound with the nearest right name.
Result<void> check_known(const Cluster& cluster, const Ledger& ledger, const Group& group);
// The same of types of GPU.
Result<void> check_types_known(const Ledger& ledger, const Group& group);

// A topology wish that contradicts itself or the groups, names an unknown switch, or that no nodes
// of the queue could ever fulfil. Wishes that need not be fulfilled may be vain.
Result<void> check_topology(const Cluster& cluster, const Ledger& ledger, const QueueConfig& queue,
                            const JobSpec& spec);

}  // namespace muster
