// What a request asks for, what a node has, and what a place grants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"
#include "base/types/wish.h"

namespace muster {

constexpr std::uint32_t kMilliPerGpu = 1000;

enum class DeviceState : std::uint8_t { kReady, kQuarantined, kGone };
template <>
struct EnumNames<DeviceState> {
  static constexpr std::array<std::string_view, 3> kNames{"ready", "quarantined", "gone"};
};

// One GPU as its node reports it.
struct GpuFacts {
  std::string uuid;
  std::uint32_t index = 0;  // In PCI bus order: the number jobs see.
  std::uint32_t minor = 0;  // Of /dev/nvidiaN (or the stand-in); can change after a reset.
  std::string type;         // "h100", "a100", …; lower case, from the plugin.
  std::uint64_t memory_mib = 0;
  std::uint32_t numa_node = 0;
  std::uint32_t clique = 0;  // GPUs of one NVLink clique share it.
  std::string device_path;   // The character device behind it; empty when there is none.
  DeviceState state = DeviceState::kReady;
  std::string state_reason;
  auto operator<=>(const GpuFacts&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "uuid", self.uuid);
    visit(2, "index", self.index);
    visit(3, "minor", self.minor);
    visit(4, "type", self.type);
    visit(5, "memory_mib", self.memory_mib);
    visit(6, "numa_node", self.numa_node);
    visit(7, "clique", self.clique);
    visit(8, "device_path", self.device_path);
    visit(9, "state", self.state);
    visit(10, "state_reason", self.state_reason);
  }
};

// What a node has; reported by its worker, never typed by an administrator.
struct Inventory {
  std::uint32_t cpus = 0;        // Hardware threads that jobs may use.
  std::uint64_t memory_mib = 0;  // Memory that jobs may use.
  std::vector<GpuFacts> gpus;    // By index.
  std::vector<std::string> features;
  std::string address;  // Of the interface ranks should rendezvous on.
  std::string release;  // Of the worker.
  std::string kernel;
  std::string switch_name;  // That the node hangs on, as its administrator says; empty: unknown.
  std::uint32_t cpus_per_core = 1;  // Jobs get whole cores: `cpus` is a multiple of it.
  auto operator<=>(const Inventory&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "cpus", self.cpus);
    visit(2, "memory_mib", self.memory_mib);
    visit(3, "gpus", self.gpus);
    visit(4, "features", self.features);
    visit(5, "address", self.address);
    visit(6, "release", self.release);
    visit(7, "kernel", self.kernel);
    visit(8, "switch", self.switch_name);
    visit(9, "cpus_per_core", self.cpus_per_core);
  }
};

// One group of a request: count nodes that each give the same.
struct Group {
  std::uint32_t nodes_min = 1;
  std::uint32_t nodes_max = 1;
  std::uint32_t tasks_per_node = 1;
  std::uint32_t cpus_per_node = 1;
  std::uint64_t memory_mib_per_node =
      0;  // 0: the share of the node's memory that goes with its cpus or GPUs.
  std::uint32_t gpus_per_node = 0;
  std::uint32_t gpu_milli = kMilliPerGpu;  // Of each GPU.
  std::vector<std::string> gpu_types;      // Acceptable types, best first; empty: any.
  std::uint64_t gpu_memory_mib_min = 0;
  std::vector<std::string> features;    // All of them.
  std::vector<std::string> nodes_only;  // Node names; empty: any.
  std::vector<std::string> nodes_excluded;
  bool gpu_types_alike = false;  // None of gpu_types is better than another.
  Wish wish;                // Beside features, for what a plain list cannot say.
  bool exclusive = false;   // Nobody else on its nodes, and all of theirs.
  bool memory_all = false;  // The whole memory of each node.
  bool one_clique = false;  // The GPUs of a node are of one NVLink clique.
  // gpus_per_node comes in lots of so many, each lot of one socket (NUMA node); 0: of any.
  std::uint32_t gpus_per_socket = 0;
  auto operator<=>(const Group&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes_min", self.nodes_min);
    visit(2, "nodes_max", self.nodes_max);
    visit(3, "tasks_per_node", self.tasks_per_node);
    visit(4, "cpus_per_node", self.cpus_per_node);
    visit(5, "memory_mib_per_node", self.memory_mib_per_node);
    visit(6, "gpus_per_node", self.gpus_per_node);
    visit(7, "gpu_milli", self.gpu_milli);
    visit(8, "gpu_types", self.gpu_types);
    visit(9, "gpu_memory_mib_min", self.gpu_memory_mib_min);
    visit(10, "features", self.features);
    visit(11, "nodes_only", self.nodes_only);
    visit(12, "nodes_excluded", self.nodes_excluded);
    visit(13, "gpu_types_alike", self.gpu_types_alike);
    visit(14, "wish", self.wish);
    visit(15, "exclusive", self.exclusive);
    visit(16, "memory_all", self.memory_all);
    visit(17, "one_clique", self.one_clique);
    visit(18, "gpus_per_socket", self.gpus_per_socket);
  }
};

// A granted device, or a part of one.
struct Grant {
  DeviceId device;
  std::uint32_t milli = kMilliPerGpu;
  std::uint64_t memory_mib = 0;
  std::string profile;  // MIG profile; empty for a whole GPU or a share.
  auto operator<=>(const Grant&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "device", self.device);
    visit(2, "milli", self.milli);
    visit(3, "memory_mib", self.memory_mib);
    visit(4, "profile", self.profile);
  }
};

// One node of a place and what it gives. Members are in rank order.
struct Member {
  std::uint32_t group = 0;
  NodeId node;
  std::uint32_t rank_first = 0;
  std::uint32_t tasks = 1;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::vector<Grant> grants;  // By device index on the node.
  auto operator<=>(const Member&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "group", self.group);
    visit(2, "node", self.node);
    visit(3, "rank_first", self.rank_first);
    visit(4, "tasks", self.tasks);
    visit(5, "cpus", self.cpus);
    visit(6, "memory_mib", self.memory_mib);
    visit(7, "grants", self.grants);
  }
};

struct Place {
  std::uint32_t generation = 1;  // Rises when members change.
  std::vector<Member> members;
  auto operator<=>(const Place&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "generation", self.generation);
    visit(2, "members", self.members);
  }
};

}  // namespace muster
