// A compute node as the journal knows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/resources.h"
#include "controller/core/event.h"

namespace muster {

// Who wants the node empty, why, since when, and until when its jobs may take.
struct Drain {
  std::string reason;
  std::string by;
  WallTime since;
  WallTime deadline;  // 0: none.
  auto operator<=>(const Drain&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "reason", self.reason);
    visit(2, "by", self.by);
    visit(3, "since", self.since);
    visit(4, "deadline", self.deadline);
  }
};

struct Node {
  NodeId id;
  std::string name;
  std::string public_key;
  std::string boot_id;  // Empty: never reported.
  Inventory inventory;
  std::vector<DeviceId> device_ids;  // Parallel to inventory.gpus.
  NodeState state = NodeState::kUp;
  bool drained = false;  // What it goes back to when a suspect or dead node is heard again.
  std::string reason;
  std::string by;
  Drain drain;  // Meaningful while drained.

  bool has_reported() const { return !boot_id.empty(); }
  bool takes_work() const { return state == NodeState::kUp && has_reported(); }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "id", self.id);
    visit(2, "name", self.name);
    visit(3, "public_key", self.public_key);
    visit(4, "boot_id", self.boot_id);
    visit(5, "inventory", self.inventory);
    visit(6, "device_ids", self.device_ids);
    visit(7, "state", self.state);
    visit(8, "drained", self.drained);
    visit(9, "reason", self.reason);
    visit(10, "by", self.by);
    visit(26, "drain", self.drain);
  }
};

// One GPU, known by its UUID wherever it is plugged in. Its id is never given to another.
struct Device {
  DeviceId id;
  std::string uuid;
  NodeId node;  // Where it was seen last.
};

}  // namespace muster
