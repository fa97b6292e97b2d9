// Checks before a job enters.
#include "controller/core/decide/admit.h"

#include <algorithm>
#include <string_view>

#include "base/types/size.h"
#include "base/types/text.h"
#include "controller/core/decide/known.h"
#include "controller/core/decide/licences.h"
#include "controller/core/decide/place.h"
#include "controller/core/decide/reserved.h"
#include "controller/core/decide/submit_limits.h"

namespace muster {
namespace {

Error invalid(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

template <class List>
std::string suggestion_of(const std::string& word, const List& list) {
  std::set<std::string> names;
  for (const auto& entry : list) names.insert(entry.name);
  return suggestion(word, names);
}

Result<void> check_owner(const Cluster& cluster, const QueueConfig& queue, const Requester& who) {
  const Uid least = cluster.config().limits.min_uid;
  if (who.uid >= least || queue.allow_root_jobs) return {};
  return fail(ErrorCode::kConflict, "user " + who.user + " (uid " + std::to_string(who.uid.value) +
                                        ") may own no jobs: uids below " +
                                        std::to_string(least.value) +
                                        " are for the system; submit as an ordinary user");
}

std::string default_account(const Cluster& cluster, const std::string& user) {
  for (const AccountConfig& account : cluster.config().accounts) {
    if (std::find(account.users.begin(), account.users.end(), user) != account.users.end()) {
      return account.name;
    }
  }
  return cluster.config().account_default;
}

Result<void> check_names(const Group& group) {
  const auto fits = [](const std::vector<std::string>& names) {
    return names.size() <= kNamesPerGroupMax &&
           std::all_of(names.begin(), names.end(),
                       [](const std::string& name) { return check_name(name).ok(); });
  };
  if (!fits(group.gpu_types)) return invalid("--gpu-type: not a name of a GPU type");
  if (!fits(group.features)) return invalid("features: not a name");
  if (!fits(group.nodes_only) || !fits(group.nodes_excluded))
    return invalid("nodes: not a node name");
  return {};
}

Result<void> check_sockets(const Group& group) {
  const std::uint32_t lot = group.gpus_per_socket;
  if (lot == 0) return {};
  if (group.gpus_per_node == 0 || group.gpus_per_node % lot != 0)
    return invalid("--gpus-per-socket: the GPUs of a node are no multiple of " +
                   std::to_string(lot));
  if (group.gpu_milli != kMilliPerGpu)
    return invalid("--gpus-per-socket: whole GPUs only, no share of one");
  if (group.one_clique)
    return invalid("--gpus-per-socket: leave out that all are of one NVLink clique");
  return {};
}

Result<void> check_group(const Group& group) {
  if (group.nodes_min == 0 || group.nodes_min > group.nodes_max) {
    return invalid(
        "--nodes: the count must be at least 1, and the lower bound not above the upper");
  }
  if (group.nodes_max > kNodesPerJobMax) {
    return invalid("--nodes: at most " + std::to_string(kNodesPerJobMax) + " per job");
  }
  if (group.tasks_per_node == 0 || group.tasks_per_node > kTasksPerNodeMax) {
    return invalid("--tasks-per-node: from 1 to " + std::to_string(kTasksPerNodeMax));
  }
  if (group.cpus_per_node == 0 || group.cpus_per_node > kCpusPerNodeMax) {
    return invalid("CPUs per node: from 1 to " + std::to_string(kCpusPerNodeMax));
  }
  if (group.memory_mib_per_node > kMemoryMibMax) return invalid("--mem: more than 1 EiB per node");
  if (group.gpus_per_node > kGpusPerNodeMax) {
    return invalid("--gpus-per-node: at most " + std::to_string(kGpusPerNodeMax));
  }
  if (group.gpu_milli == 0 || group.gpu_milli > kMilliPerGpu) {
    return invalid("share of a GPU: from 1 to 1000 thousandths");
  }
  if (group.exclusive && group.gpu_milli != kMilliPerGpu)
    return invalid("--exclusive: a share of a GPU shares it; leave one of them out");
  if (const Result<void> sockets = check_sockets(group); !sockets) return sockets;
  if (group.memory_all && group.memory_mib_per_node != 0)
    return invalid("--mem: all of the memory, or so much of it");
  if (const Result<void> wish = check_wish(group.wish); !wish)
    return invalid("--constraint: " + wish.error().message);
  return check_names(group);
}

Result<void> check_groups(const std::vector<Group>& groups) {
  if (groups.empty()) return invalid("the request has no group of nodes");
  if (groups.size() > kGroupsMax) {
    return invalid("the request has more than " + std::to_string(kGroupsMax) + " groups");
  }
  std::uint64_t tasks = 0;
  std::uint64_t nodes = 0;
  for (const Group& group : groups) {
    if (const Result<void> checked = check_group(group); !checked) return checked;
    tasks += std::uint64_t{group.nodes_max} * group.tasks_per_node;
    nodes += group.nodes_max;
  }
  if (nodes > kNodesPerJobMax) {
    return invalid("--nodes: at most " + std::to_string(kNodesPerJobMax) + " per job");
  }
  if (tasks > kTasksPerJobMax) {
    return invalid("--tasks: " + std::to_string(tasks) + " are more than " +
                   std::to_string(kTasksPerJobMax));
  }
  return {};
}

std::string plural(std::uint64_t count, std::string_view word) {
  return std::to_string(count) + " " + std::string(word) + (count == 1 ? "" : "s");
}

// "4 GPUs of type h100 or a100"
std::string gpus_text(const Group& group) {
  std::string text = plural(group.gpus_per_node, "GPU");
  for (std::size_t i = 0; i < group.gpu_types.size(); ++i) {
    text += (i == 0 ? " of type " : " or ") + group.gpu_types[i];
  }
  if (group.gpu_memory_mib_min != 0)
    text += " with " + memory_to_text(group.gpu_memory_mib_min) + " or more";
  if (group.gpus_per_socket != 0) {
    text += ", " + std::to_string(group.gpus_per_socket) + " on each of " +
            plural(group.gpus_per_node / group.gpus_per_socket, "socket") + ",";
  }
  return text;
}

struct Fleet {
  std::uint32_t nodes = 0;
  std::uint32_t able = 0;
  std::uint32_t gpus_max = 0;  // Acceptable ones on the best node.
  std::uint32_t cpus_max = 0;
  std::uint64_t memory_max = 0;
  Constraint hardest = Constraint::kNamed;  // The last constraint that somebody still failed.
  std::set<std::string> types;
};

// The most that nodes have is told of those that pass what is checked before.
void count_nodes(Fleet& fleet, const Group& group, const NodeClass& node_class, Constraint failed,
                 std::uint32_t nodes) {
  fleet.nodes += nodes;
  if (failed > Constraint::kMemoryTotal) {
    fleet.able += nodes;
  } else {
    fleet.hardest = std::max(fleet.hardest, failed);
  }
  std::uint32_t gpus = 0;
  for (const auto& [type, memory] : node_class.traits.gpus) {
    gpus += gpu_accepted(group, type, memory) ? 1U : 0U;
    fleet.types.insert(type);
  }
  fleet.gpus_max = std::max(fleet.gpus_max, gpus);
  if (failed >= Constraint::kCpusTotal)
    fleet.cpus_max = std::max(fleet.cpus_max, node_class.traits.cpus);
  if (failed >= Constraint::kMemoryTotal && !node_class.memories.empty())
    fleet.memory_max = std::max(fleet.memory_max, node_class.memories.rbegin()->first);
}

void count_class(Fleet& fleet, const Group& group, const NodeClass& node_class) {
  const Constraint failed = idle_failed(group, node_class);
  if (failed != Constraint::kFits) {
    return count_nodes(fleet, group, node_class, failed, node_class.nodes);
  }
  std::uint32_t able = 0;
  auto it = node_class.memories.lower_bound(group.memory_mib_per_node);
  for (; it != node_class.memories.end(); ++it) able += it->second;
  count_nodes(fleet, group, node_class, Constraint::kFits, able);
  if (able == node_class.nodes) return;
  count_nodes(fleet, group, node_class, Constraint::kMemoryTotal, node_class.nodes - able);
}

Fleet survey(const Ledger& ledger, const GroupNeed& need) {
  Fleet fleet;
  const Group& group = *need.group;
  if (!need.is_confined && group.nodes_excluded.empty()) {
    for (const NodeClass& node_class : ledger.classes()) {
      const bool reported = node_class.nodes != 0 && node_class.traits.cpus != 0;
      if (reported && in_queue(need, node_class)) count_class(fleet, group, node_class);
    }
    return fleet;
  }
  for (const NodeFree& node : ledger.nodes()) {
    if (!node.exists || node.cpus_total == 0) continue;
    const NodeClass& node_class = ledger.classes()[node.node_class];
    if (!in_queue(need, node_class)) continue;
    count_nodes(fleet, group, node_class, first_failed(need, node, node_class, {}), 1);
  }
  return fleet;
}

std::string types_text(const Fleet& fleet) {
  std::string text;
  for (const std::string& type : fleet.types) text += (text.empty() ? "" : ", ") + type;
  return text.empty() ? "none" : text;
}

// For a type that is not there.
std::string near_type(const Group& group, const Fleet& fleet) {
  const std::vector<std::string_view> types(fleet.types.begin(), fleet.types.end());
  for (const std::string& type : group.gpu_types) {
    const std::string_view near = nearest_match(type, types);
    if (fleet.types.count(type) == 0 && !near.empty())
      return "; did you mean " + std::string(near) + "?";
  }
  return "";
}

Error never(const QueueConfig& queue, const Group& group, const Fleet& fleet,
            const std::string& reservation) {
  std::string text = "can never run: ";
  const std::string where =
      " in queue " + queue.name + (reservation.empty() ? "" : " and reservation " + reservation);
  switch (fleet.able == 0 ? fleet.hardest : Constraint::kFits) {
    case Constraint::kGpusTotal:
      text += "asks for " + gpus_text(group) + " per node, but no node" + where +
              " has more than " + std::to_string(fleet.gpus_max) +
              " of them (GPU types there: " + types_text(fleet) + ")" + near_type(group, fleet);
      break;
    case Constraint::kCpusTotal:
      text += "asks for " + plural(group.cpus_per_node, "CPU") + " per node, but no such node" +
              where + " has more than " + std::to_string(fleet.cpus_max);
      break;
    case Constraint::kMemoryTotal:
      text += "asks for " + memory_to_text(group.memory_mib_per_node) +
              " of memory per node, but no such node" + where + " has more than " +
              memory_to_text(fleet.memory_max);
      break;
    case Constraint::kFeatures:
      text += "no node" + where + " has " +
              (group.wish.empty() ? "all the features asked for"
                                  : "the features " + to_text(group.wish));
      break;
    case Constraint::kNamed:
      text += "none of the nodes asked for is" + where;
      break;
    default:
      text += "asks for " + plural(group.nodes_min, "node");
      if (group.gpus_per_node != 0) text += " with " + gpus_text(group) + " each";
      text += ", but only " + std::to_string(fleet.able) + " of the " +
              plural(fleet.nodes, "node") + where + " could hold that";
  }
  return invalid(text + "; see gpuinfo for what there is");
}

}  // namespace

Result<void> check_possible(const Cluster& cluster, const Ledger& ledger, const QueueConfig& queue,
                            const std::vector<Group>& groups, const std::string& reservation) {
  const std::optional<std::vector<NodeId>> confined = confined_nodes(cluster, reservation);
  std::uint64_t needed = 0;
  std::uint32_t nodes = 0;
  for (const Group& group : groups) {
    if (auto known = check_known(cluster, ledger, group); !known) return known;
    GroupNeed need = need_of(cluster, queue, group);
    confine(need, confined ? &*confined : nullptr);
    const Fleet fleet = survey(ledger, need);
    if (fleet.nodes == 0) {
      return fail(ErrorCode::kUnavailable,
                  "queue " + queue.name + " has no node that has reported yet; retry");
    }
    if (fleet.able < group.nodes_min) return never(queue, group, fleet, reservation);
    if (auto known = check_types_known(ledger, group); !known) return known;
    needed += group.nodes_min;
    nodes = std::max(nodes, fleet.nodes);
  }
  if (needed <= nodes) return {};
  return invalid("can never run: its groups ask for " + plural(needed, "node") + ", but queue " +
                 queue.name + " has " + std::to_string(nodes) + "; see gpuinfo for what there is");
}

Result<ArraySpec> ordered_array(const ArraySpec& array, std::uint32_t elements_max) {
  std::uint64_t total = 0;
  ArraySpec ordered = array;
  for (IndexRange& range : ordered.ranges) {
    if (range.step == 0) return invalid("--array: a step of 0");
    if (range.first > range.last) {
      return invalid("--array: " + std::to_string(range.first) + "-" + std::to_string(range.last) +
                     " runs backwards");
    }
    if (range.last >= kArrayElementsMax * 4) return invalid("--array: an index is above 3999999");
    const std::uint32_t steps = (range.last - range.first) / range.step;
    range.last = range.first + steps * range.step;
    if (steps == 0) range.step = 1;
    total += std::uint64_t{steps} + 1;
  }
  const std::uint64_t most = std::min<std::uint64_t>(elements_max, kArrayElementsMax);
  if (total > most) {
    return invalid("--array: " + std::to_string(total) + " elements are more than " +
                   std::to_string(most));
  }
  std::sort(ordered.ranges.begin(), ordered.ranges.end());
  bool disjoint = true;
  for (std::size_t i = 1; i < ordered.ranges.size(); ++i) {
    disjoint = disjoint && ordered.ranges[i - 1].last < ordered.ranges[i].first;
  }
  if (disjoint) return ordered;
  std::set<std::uint32_t> indices;
  for (const IndexRange& range : ordered.ranges) {
    for (std::uint32_t i = range.first; i <= range.last; i += range.step) indices.insert(i);
  }
  ordered.ranges.clear();
  for (const std::uint32_t index : indices) {
    if (!ordered.ranges.empty() && ordered.ranges.back().last + 1 == index)
      ordered.ranges.back().last = index;
    else
      ordered.ranges.push_back({index, index, 1});
  }
  return ordered;
}

Result<void> check_time(const QueueConfig& queue, Duration limit) {
  if (limit.us <= 0) return invalid("--time: the limit must be more than 0");
  if (queue.time_max.us == 0 || limit <= queue.time_max) return {};
  return invalid("--time: " + to_text(limit) + " is more than the " + to_text(queue.time_max) +
                 " that queue " + queue.name + " allows");
}

Result<void> check_nice(const Requester& who, std::int32_t nice, std::int32_t least) {
  if (nice < -kNiceMax || nice > kNiceMax)
    return invalid("--nice: from " + std::to_string(-kNiceMax) + " to " + std::to_string(kNiceMax));
  if (nice >= least || who.role != Role::kUser) return {};
  return fail(ErrorCode::kConflict, "--nice: users may only give way (it is " +
                                        std::to_string(least) + "); ask an operator for more");
}

Result<void> check_account(const Cluster& cluster, const QueueConfig& queue,
                           const std::string& account, const std::string& user) {
  const AccountConfig* known = cluster.find_account(account);
  if (known == nullptr) {
    return fail(ErrorCode::kNotFound, "--account: there is no account " +
                                          escape_for_terminal(account) +
                                          suggestion_of(account, cluster.config().accounts));
  }
  const auto& users = known->users;
  if (!users.empty() && std::find(users.begin(), users.end(), user) == users.end()) {
    return fail(ErrorCode::kConflict,
                "--account: user " + user + " may not use account " + account);
  }
  const auto& allowed = queue.accounts;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), account) == allowed.end()) {
    return fail(ErrorCode::kConflict,
                "--queue: account " + account + " may not use queue " + queue.name);
  }
  return {};
}

Result<const QueueConfig*> queue_must_be_open(const Cluster& cluster, const std::string& name) {
  const QueueConfig* queue = cluster.find_queue(name);
  if (queue == nullptr) {
    return fail(ErrorCode::kNotFound, "--queue: there is no queue " + escape_for_terminal(name) +
                                          suggestion_of(name, cluster.config().queues));
  }
  if (!queue->open) {
    return fail(ErrorCode::kUnavailable,
                "--queue: queue " + name + " takes no new jobs now; retry later");
  }
  return queue;
}

Result<JobSpec> admit(const Cluster& cluster, const Ledger& ledger, const Requester& who,
                      const JobSpec& asked, const JobSpec* before) {
  JobSpec spec = asked;
  if (spec.queue.empty()) spec.queue = cluster.config().queue_default;
  if (spec.account.empty()) spec.account = default_account(cluster, who.user);
  if (spec.name.empty()) spec.name = "job";
  if (const Result<void> name = check_job_name(spec.name); !name) {
    return invalid("--name: " + name.error().message);
  }
  const Result<const QueueConfig*> queue = queue_must_be_open(cluster, spec.queue);
  if (!queue) return queue.error();
  if (const Result<void> owner = check_owner(cluster, **queue, who); !owner) return owner.error();
  const Result<void> account = check_account(cluster, **queue, spec.account, who.user);
  if (!account) return account.error();
  if (const Result<void> qos = check_qos(cluster, spec.qos, spec.account); !qos) return qos.error();
  if (spec.time_limit.us == 0) spec.time_limit = (*queue)->time_default;
  if (spec.time_limit.us == 0) spec.time_limit = (*queue)->time_max;
  if (const Result<void> time = check_time(**queue, spec.time_limit); !time) return time.error();
  const Result<void> reserved = check_reservation(cluster, who.user, terms_of(spec));
  if (!reserved) return reserved.error();
  if (spec.priority > 0 && who.role == Role::kUser) {
    return fail(ErrorCode::kConflict,
                "--priority: users may only lower it; ask an operator to raise it");
  }
  if (const Result<void> nice = check_nice(who, spec.nice, 0); !nice) return nice.error();
  if (spec.ports > kPortsPerJobMax)
    return invalid("--ports: at most " + std::to_string(kPortsPerJobMax));
  const bool known = before != nullptr && before->queue == spec.queue &&
                     before->groups == spec.groups && before->topology == spec.topology &&
                     before->reservation == spec.reservation;
  if (!known) {
    if (const Result<void> groups = check_groups(spec.groups); !groups) return groups.error();
  }
  Result<ArraySpec> array = ordered_array(spec.array, cluster.config().limits.array_elements_max);
  if (!array) return array.error();
  spec.array = *std::move(array);
  Result<std::vector<LicenceCount>> licences = check_licences(cluster, spec.licences);
  if (!licences) return licences.error();
  spec.licences = *std::move(licences);
  if (const Result<void> enough = check_enough(cluster, spec.licences); !enough)
    return enough.error();
  if (known) return spec;
  const Result<void> possible =
      check_possible(cluster, ledger, **queue, spec.groups, spec.reservation);
  if (!possible) return possible.error();
  const Result<void> topology = check_topology(cluster, ledger, **queue, spec);
  if (!topology) return topology.error();
  return spec;
}

}  // namespace muster
