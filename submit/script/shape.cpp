// The arithmetic of a request's shape.
#include "submit/script/shape.h"

#include <algorithm>

#include "base/types/node_limits.h"

namespace muster {

namespace {

std::string plural(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Error contradiction(const std::string& what) {
  return fail(ErrorCode::kInvalid, "contradiction: " + what + "; leave one of them out");
}

std::string gave(const char* option, std::uint64_t value) {
  return std::string("--") + option + " " + std::to_string(value);
}

class Resolver {
 public:
  explicit Resolver(const AskedCounts& asked) : asked_(asked) {}

  Result<Shape> run() {
    if (auto fine = check_range(); !fine) return fine.error();
    if (auto fine = find_nodes(); !fine) return fine.error();
    if (auto fine = find_gpus_per_node(); !fine) return fine.error();
    if (auto fine = find_tasks(); !fine) return fine.error();
    if (auto fine = check_gpus_per_task(); !fine) return fine.error();
    return finish();
  }

 private:
  bool is_range() const { return asked_.nodes_max && *asked_.nodes_max != *asked_.nodes; }

  // A total says nothing of each node where their number is open.
  Result<void> check_range() const {
    if (!is_range() || (!asked_.gpus && !asked_.tasks)) return {};
    const std::string range =
        "--nodes " + std::to_string(*asked_.nodes) + "-" + std::to_string(*asked_.nodes_max);
    const std::string total =
        asked_.gpus ? gave("gpus", *asked_.gpus) : gave("tasks", *asked_.tasks);
    return fail(ErrorCode::kInvalid,
                range + " leaves open how many of " + total + " each node has; say " +
                    (asked_.gpus ? "--gpus-per-node N" : "--tasks-per-node N"));
  }

  Result<void> find_nodes() {
    if (asked_.nodes) {
      nodes_ = *asked_.nodes;
    } else if (asked_.tasks && asked_.tasks_per_node) {
      nodes_ = (*asked_.tasks - 1) / *asked_.tasks_per_node + 1;
    } else if (asked_.gpus && asked_.gpus_per_node) {
      if (*asked_.gpus % *asked_.gpus_per_node != 0) {
        return contradiction(gave("gpus", *asked_.gpus) + " is no multiple of " +
                             gave("gpus-per-node", *asked_.gpus_per_node));
      }
      nodes_ = *asked_.gpus / *asked_.gpus_per_node;
    }
    if (nodes_ <= kNodesPerJobMax) return {};
    return fail(ErrorCode::kInvalid, "that is " + plural(nodes_, "node") +
                                         "; the limit of a job is " +
                                         std::to_string(kNodesPerJobMax));
  }

  // Where it does not depend on the tasks.
  Result<void> find_gpus_per_node() {
    if (asked_.gpus_per_node) {
      gpus_per_node_ = *asked_.gpus_per_node;
      if (asked_.gpus && *asked_.gpus != gpus_per_node_ * nodes_) {
        return contradiction(
            gave("gpus-per-node", gpus_per_node_) + " on " + plural(nodes_, "node") + " makes " +
            plural(gpus_per_node_ * nodes_, "GPU") + ", not " + gave("gpus", *asked_.gpus));
      }
      return {};
    }
    if (!asked_.gpus) return {};
    if (asked_.gpus_per_task && (asked_.tasks || asked_.tasks_per_node))
      return {};  // Follows from the tasks.
    if (*asked_.gpus % nodes_ != 0) {
      return fail(ErrorCode::kInvalid, gave("gpus", *asked_.gpus) + " does not divide over " +
                                           plural(nodes_, "node") + "; say --gpus-per-node N");
    }
    gpus_per_node_ = *asked_.gpus / nodes_;
    return {};
  }

  // tasks_low_ on every node, one more on the first tasks_more_ of them; or tasks_last_ on the last
  // alone.
  Result<void> find_tasks() {
    if (asked_.tasks && asked_.tasks_per_node) return tasks_both_ways();
    if (asked_.tasks_per_node) {
      tasks_low_ = *asked_.tasks_per_node;
      return {};
    }
    if (asked_.tasks) {
      if (*asked_.tasks < nodes_) {
        return contradiction(gave("tasks", *asked_.tasks) + " leaves some of the " +
                             plural(nodes_, "node") + " without a process");
      }
      tasks_low_ = *asked_.tasks / nodes_;
      tasks_more_ = *asked_.tasks % nodes_;
      return {};
    }
    if (gpus_per_node_ != 0 && asked_.gpus_per_task) {
      if (gpus_per_node_ % *asked_.gpus_per_task != 0) {
        return contradiction(plural(gpus_per_node_, "GPU") + " on a node is no multiple of " +
                             gave("gpus-per-task", *asked_.gpus_per_task));
      }
      tasks_low_ = gpus_per_node_ / *asked_.gpus_per_task;
    } else if (gpus_per_node_ != 0 && asked_.launch != LaunchMode::kScript) {
      tasks_low_ = gpus_per_node_;
    }
    return {};
  }

  Result<void> tasks_both_ways() {
    const std::uint64_t each = *asked_.tasks_per_node;
    const std::uint64_t all = *asked_.tasks;
    if (asked_.nodes && all != each * nodes_) {
      return contradiction(gave("tasks-per-node", each) + " on " + plural(nodes_, "node") +
                           " makes " + plural(each * nodes_, "task") + ", not " +
                           gave("tasks", all));
    }
    tasks_low_ = each;
    tasks_last_ = all - each * (nodes_ - 1);
    return {};
  }

  Result<void> check_gpus_per_task() {
    if (!asked_.gpus_per_task) return {};
    const std::uint64_t each = *asked_.gpus_per_task;
    const std::uint64_t tasks = tasks_in_all();
    if (gpus_per_node_ != 0 &&
        (tasks_more_ != 0 || uneven() || tasks_low_ * each != gpus_per_node_)) {
      return contradiction(gave("gpus-per-task", each) + " for " + plural(tasks, "task") + " on " +
                           plural(nodes_, "node") + " does not make " +
                           plural(gpus_per_node_, "GPU") + " a node");
    }
    if (asked_.gpus && tasks * each != *asked_.gpus) {
      return contradiction(gave("gpus-per-task", each) + " for " + plural(tasks, "task") +
                           " makes " + plural(tasks * each, "GPU") + ", not " +
                           gave("gpus", *asked_.gpus));
    }
    return {};
  }

  bool uneven() const { return tasks_last_ != 0 && tasks_last_ != tasks_low_; }

  std::uint64_t tasks_in_all() const {
    if (uneven()) return tasks_low_ * (nodes_ - 1) + tasks_last_;
    return tasks_low_ * nodes_ + tasks_more_;
  }

  Result<Shape> finish() {
    Shape shape;
    shape.nodes = nodes_;
    shape.cpus_per_task = static_cast<std::uint32_t>(asked_.cpus_per_task.value_or(1));
    if (tasks_more_ != 0) {
      add_group(shape, tasks_more_, tasks_low_ + 1);
      add_group(shape, nodes_ - tasks_more_, tasks_low_);
    } else if (uneven()) {
      if (nodes_ > 1) add_group(shape, nodes_ - 1, tasks_low_);
      add_group(shape, 1, tasks_last_);
    } else {
      add_group(shape, nodes_, tasks_low_);
    }
    if (!asked_.cpus_per_task) shape.cpus_per_task = spare_cpus_per_task(shape);
    if (too_many_tasks_) {
      return fail(ErrorCode::kInvalid, "that is more than " + std::to_string(kTasksPerNodeMax) +
                                           " processes on a node; say --nodes N, or ask for fewer");
    }
    if (gpus_most_ > kGpusPerNodeMax) return too_many_gpus();
    if (!contradiction_.empty()) return contradiction(contradiction_);
    if (too_many_cpus_) {
      return fail(ErrorCode::kInvalid,
                  "the CPUs of a node come to more than " + std::to_string(kCpusPerNodeMax));
    }
    return shape;
  }

  // In the words of whoever asked.
  Error too_many_gpus() const {
    const std::string asked = asked_.gpus_per_node ? gave("gpus-per-node", *asked_.gpus_per_node)
                              : asked_.gpus        ? gave("gpus", *asked_.gpus)
                                                   : gave("gpus-per-task", *asked_.gpus_per_task);
    const std::string sum =
        asked_.gpus_per_node ? "" : " comes to " + plural(gpus_most_, "GPU") + " on a node";
    return fail(ErrorCode::kInvalid, asked + sum + (sum.empty() ? ": " : "; ") + "at most " +
                                         std::to_string(kGpusPerNodeMax) +
                                         " fit on a node: ask for more nodes with --nodes N");
  }

  void add_group(Shape& shape, std::uint64_t nodes, std::uint64_t tasks) {
    const std::uint64_t gpus =
        asked_.gpus_per_task ? *asked_.gpus_per_task * tasks : gpus_per_node_;
    const std::uint64_t cpus = cpus_of(tasks, gpus);
    too_many_tasks_ = too_many_tasks_ || tasks > kTasksPerNodeMax;
    too_many_cpus_ = too_many_cpus_ || cpus > kCpusPerNodeMax;
    gpus_most_ = std::max(gpus_most_, gpus);
    if (too_many_tasks_ || too_many_cpus_ || gpus > kGpusPerNodeMax) return;
    Group group;
    group.nodes_min = group.nodes_max = static_cast<std::uint32_t>(nodes);
    if (is_range()) group.nodes_max = static_cast<std::uint32_t>(*asked_.nodes_max);
    group.tasks_per_node = static_cast<std::uint32_t>(tasks);
    group.gpus_per_node = static_cast<std::uint32_t>(gpus);
    group.cpus_per_node = static_cast<std::uint32_t>(cpus);
    shape.groups.push_back(std::move(group));
  }

  // Of a node.
  std::uint64_t cpus_of(std::uint64_t tasks, std::uint64_t gpus) {
    if (asked_.cpus_per_task) return *asked_.cpus_per_task * tasks;
    if (!asked_.cpus_per_gpu) return std::max<std::uint64_t>(tasks, gpus);
    const std::uint64_t cpus = *asked_.cpus_per_gpu * gpus;
    if (cpus < tasks && contradiction_.empty()) {
      contradiction_ = gave("cpus-per-gpu", *asked_.cpus_per_gpu) + " makes " +
                       plural(cpus, "CPU") + " for " + plural(tasks, "task") + " on a node";
    }
    return cpus;
  }

  // CPUs that came with GPUs rather than tasks are the tasks' to use.
  static std::uint32_t spare_cpus_per_task(const Shape& shape) {
    std::uint32_t least = 0;
    for (const Group& group : shape.groups) {
      const std::uint32_t each =
          std::max<std::uint32_t>(group.cpus_per_node / group.tasks_per_node, 1);
      least = least == 0 ? each : std::min(least, each);
    }
    return std::max<std::uint32_t>(least, 1);
  }

  const AskedCounts& asked_;
  std::uint64_t nodes_ = 1;
  std::uint64_t gpus_per_node_ = 0;  // 0: none, or following from the tasks.
  std::uint64_t gpus_most_ = 0;      // Of any node's.
  std::uint64_t tasks_low_ = 1;
  std::uint64_t tasks_more_ = 0;
  std::uint64_t tasks_last_ = 0;  // 0: like the others.
  std::string contradiction_;
  bool too_many_tasks_ = false;
  bool too_many_cpus_ = false;
};

}  // namespace

Result<Shape> resolve_shape(const AskedCounts& asked) { return Resolver(asked).run(); }

}  // namespace muster
