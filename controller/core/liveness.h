// What is known from messages only: never journalled, never digested, empty after a restart and
// rebuilt from hellos.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/command.h"

namespace muster {

// One member of a live attempt as its worker reported it last, and what was asked of that worker
// since.
struct MemberLiveness {
  AttemptPhase phase = AttemptPhase::kUnknown;
  bool heard = false;  // Since this controller began, or since the node's last hello.
  bool prepare_sent = false;
  bool go_sent = false;
  bool kill_sent = false;
  std::vector<std::uint16_t> ports;  // The first member's, from its report.
};

struct AttemptLiveness {
  Instant prepare_deadline;             // From when the first order could go out.
  std::vector<MemberLiveness> members;  // Parallel to the place's.
  Instant tombstone_deadline;           // Of members that never launched, once it is stopping.
};

struct NodeLiveness {
  Instant heard_at;        // Meaningful when heard.
  bool heard = false;      // In this epoch.
  bool connected = false;  // Said hello, and neither broke off nor fell silent since.
  bool silent = false;     // Was connected when it fell silent: a heartbeat is enough to be back.
  std::uint64_t incarnation = 0;
};

struct Liveness {
  std::map<NodeId, NodeLiveness> nodes;
  std::map<AttemptKey, AttemptLiveness> attempts;
  Instant began_at;     // Of this epoch: silence is counted from here for nodes not heard yet.
  Seq feed_reached;     // SQL has every record up to this one.
  bool braked = false;  // Too many nodes fell silent at once: none is declared lost.

  const NodeLiveness* find_node(NodeId node) const {
    const auto found = nodes.find(node);
    return found == nodes.end() ? nullptr : &found->second;
  }
};

}  // namespace muster
