// Who speaks with which key: per node the one process that is served, and others that came with the
// same key (a restarted worker, a rebooted machine, a second machine made from a copied disk).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/link/link.h"
#include "base/session/session.h"
#include "base/types/time.h"

namespace muster {

// One process of a worker: its session lives as long as it does, over all its connections.
struct WorkerPeer {
  WorkerPeer(std::uint64_t epoch, std::uint64_t its) : session(epoch), incarnation(its) {}
  Session session;
  std::uint64_t incarnation;
  PeerId route;
  std::string boot_id;
  Instant heard_at;
  bool welcomed = false;  // Its hello was taken.
  bool lost = false;
};

// The port's thread only.
class WorkerPeers {
 public:
  explicit WorkerPeers(std::uint64_t epoch) : epoch_(epoch) {}

  // The process that sent this packet, known or new. kCorrupt: not a packet.
  Result<WorkerPeer*> sender(const std::string& node, std::string_view packet, Instant now);
  // The one that is served; null: none yet.
  WorkerPeer* served(const std::string& node);
  // The one that would have to fall silent first, when `peer` says hello from the boot `boot_id`;
  // null: nothing stands against it. A new boot of the same machine and a second machine look the
  // same but for this: the second one's twin still speaks.
  const WorkerPeer* twin_of(const std::string& node, const WorkerPeer& peer,
                            const std::string& boot_id, Instant heard_since);
  // From now on `peer` is the node.
  void serve(const std::string& node, WorkerPeer& peer);

  template <class F>
  void for_each(F&& visit) {
    for (auto& [node, slot] : nodes_) {
      if (slot.served != nullptr) visit(node, *slot.served, true);
      for (auto& other : slot.others) visit(node, *other, false);
    }
  }

 private:
  struct Slot {
    std::unique_ptr<WorkerPeer> served;
    std::vector<std::unique_ptr<WorkerPeer>> others;
  };
  const std::uint64_t epoch_;
  std::map<std::string, Slot> nodes_;
};

// What an administrator must hear of, kept for a while. Any thread.
struct NodeAlarm {
  std::string node;
  std::string text;
};
class NodeAlarms {
 public:
  // True when this is news and should be logged.
  bool raise(const std::string& node, const std::string& text, Instant now);
  std::vector<NodeAlarm> standing(Instant now) const;

 private:
  struct Raised {
    std::string text;
    Instant logged_at;
    Instant seen_at;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Raised> raised_;
};

}  // namespace muster
