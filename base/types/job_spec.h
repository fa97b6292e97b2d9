// What a user asked for. JobSpec is what scheduling needs and stays in memory; LaunchSpec is what
// only the start of a task needs: the controller keeps it as opaque bytes and as a blob.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/depends.h"
#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/resources.h"
#include "base/types/time.h"

namespace muster {

// faults.md §1.3 M: the default limits of a multi-user cluster.
constexpr std::size_t kScriptBytesMax = 1U << 20U;
constexpr std::size_t kEnvironmentBytesMax = 256U << 10U;
constexpr std::size_t kEnvironmentVariablesMax = 4096;
constexpr std::size_t kArgvBytesMax = 128U << 10U;
constexpr std::size_t kJobNameBytesMax = 128;
constexpr std::size_t kNameBytesMax = 128;  // Queues, accounts, nodes: [A-Za-z0-9._-].
constexpr std::size_t kPathBytesMax = 4095;
constexpr std::uint32_t kArrayElementsMax = 1000000;
constexpr std::size_t kBulkJobsMax = 10000;
constexpr std::uint32_t kGroupsMax = 64;
constexpr std::uint32_t kNodesPerJobMax = 100000;
constexpr std::uint32_t kTasksPerNodeMax = 4096;
constexpr std::size_t kLicencesPerJobMax = 16;

constexpr std::int32_t kNiceMax = 1000000;

enum class LaunchMode : std::uint8_t { kScript, kTasks, kTorchrun };
template <>
struct EnumNames<LaunchMode> {
  static constexpr std::array<std::string_view, 3> kNames{"script", "tasks", "torchrun"};
};

enum class GpuBind : std::uint8_t { kNone, kSingle };
template <>
struct EnumNames<GpuBind> {
  static constexpr std::array<std::string_view, 2> kNames{"none", "single"};
};

enum class OpenMode : std::uint8_t { kTruncate, kAppend };
template <>
struct EnumNames<OpenMode> {
  static constexpr std::array<std::string_view, 2> kNames{"truncate", "append"};
};

// Elements of an array: first, first+step, … up to last.
struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  auto operator<=>(const IndexRange&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "first", self.first);
    visit(2, "last", self.last);
    visit(3, "step", self.step);
  }
};

struct ArraySpec {
  std::vector<IndexRange> ranges;  // Empty: not an array.
  std::uint32_t running_max = 0;   // "%N"; 0: no limit.
  auto operator<=>(const ArraySpec&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "ranges", self.ranges);
    visit(2, "running_max", self.running_max);
  }
};

// So many of one of the cluster's counters, for as long as it runs.
struct LicenceCount {
  std::string name;
  std::uint32_t count = 1;
  auto operator<=>(const LicenceCount&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "count", self.count);
  }
};

// How near to one another its nodes are.
enum class TopologyKind : std::uint8_t { kAny, kSwitch, kBlock, kSwitches, kSegments };
template <>
struct EnumNames<TopologyKind> {
  static constexpr std::array<std::string_view, 5> kNames{"any", "switch", "block", "switches",
                                                          "segment"};
};
struct TopologyWish {
  TopologyKind kind = TopologyKind::kAny;
  std::uint32_t count = 0;  // Switches at most; nodes of each segment.
  std::string name;         // Of the switch or block; empty: any one.
  bool required = false;
  auto operator<=>(const TopologyWish&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "kind", self.kind);
    visit(2, "count", self.count);
    visit(3, "name", self.name);
    visit(4, "required", self.required);
  }
};

struct JobSpec {
  std::string name;
  std::string queue;    // Empty: the default queue.
  std::string account;  // Empty: the user's default account.
  std::vector<Group> groups;
  Duration time_limit;        // 0: the queue's default.
  std::int32_t priority = 0;  // Wished; users may only lower it (negative).
  bool hold = false;
  bool requeue = true;      // After a fault that was not the job's own.
  std::uint32_t ports = 0;  // Further rendezvous ports on the first node.
  ArraySpec array;
  bool first_node_only =
      false;  // Tasks run on the first node only (LaunchMode::kScript): their end ends the job.
  std::optional<Depends> depends;
  WallTime begin;                      // Not started before; 0: at once.
  WallTime deadline;                   // Ended when it cannot end by then any more; 0: none.
  std::vector<LicenceCount> licences;  // In the order of their names.
  TopologyWish topology;
  std::string qos;          // Empty: none.
  std::int32_t nice = 0;    // Points taken off; users may not give themselves any.
  std::string reservation;  // It runs in this one only. Empty: in none.
  auto operator<=>(const JobSpec&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "queue", self.queue);
    visit(3, "account", self.account);
    visit(4, "groups", self.groups);
    visit(5, "time_limit", self.time_limit);
    visit(6, "priority", self.priority);
    visit(7, "hold", self.hold);
    visit(8, "requeue", self.requeue);
    visit(9, "ports", self.ports);
    visit(10, "array", self.array);
    visit(11, "first_node_only", self.first_node_only);
    visit(12, "depends", self.depends);
    visit(13, "begin", self.begin);
    visit(14, "deadline", self.deadline);
    visit(16, "licences", self.licences);
    visit(17, "topology", self.topology);
    visit(20, "qos", self.qos);
    visit(21, "nice", self.nice);
    visit(26, "reservation", self.reservation);
  }
};

struct LaunchSpec {
  LaunchMode mode = LaunchMode::kScript;
  bool is_command = false;        // `-- command …`: argv is the command; no script blob.
  std::vector<std::string> argv;  // After the script's name, or the whole command.
  std::string script_name;        // As typed; argv[0] of the script.
  std::string cwd;
  std::string output;  // Pattern; empty: muster-%j.out (or %A_%a) in the cwd.
  std::string error;   // Pattern; empty: where output goes.
  OpenMode open_mode = OpenMode::kTruncate;
  bool make_directories = false;  // --mkdir: as the user.
  std::uint32_t umask_bits = 022;
  GpuBind gpu_bind = GpuBind::kNone;
  std::uint32_t cpus_per_task = 1;  // For OMP_NUM_THREADS.
  auto operator<=>(const LaunchSpec&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "mode", self.mode);
    visit(2, "is_command", self.is_command);
    visit(3, "argv", self.argv);
    visit(4, "script_name", self.script_name);
    visit(5, "cwd", self.cwd);
    visit(6, "output", self.output);
    visit(7, "error", self.error);
    visit(8, "open_mode", self.open_mode);
    visit(9, "make_directories", self.make_directories);
    visit(10, "umask", self.umask_bits);
    visit(11, "gpu_bind", self.gpu_bind);
    visit(12, "cpus_per_task", self.cpus_per_task);
  }
};

}  // namespace muster
