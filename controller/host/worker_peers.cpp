// Processes that come with one key.
#include "controller/host/worker_peers.h"

#include <algorithm>

#include "base/session/packet.h"

namespace muster {

namespace {

// Beyond the one that is served. A process that is forgotten and still lives must be started anew.
constexpr std::size_t kOthersMax = 4;
constexpr Duration kAlarmStands = minutes(10);
constexpr Duration kAlarmLogEvery = minutes(1);

}  // namespace

Result<WorkerPeer*> WorkerPeers::sender(const std::string& node, std::string_view bytes,
                                        Instant now) {
  const auto packet = decode_packet(bytes);
  if (!packet) return packet.error();
  Slot& slot = nodes_[node];
  if (slot.served != nullptr && slot.served->incarnation == packet->from) return slot.served.get();
  for (auto& other : slot.others) {
    if (other->incarnation == packet->from) return other.get();
  }
  if (slot.others.size() == kOthersMax) {
    slot.others.erase(
        std::min_element(slot.others.begin(), slot.others.end(),
                         [](const auto& a, const auto& b) { return a->heard_at < b->heard_at; }));
  }
  slot.others.push_back(std::make_unique<WorkerPeer>(epoch_, packet->from));
  slot.others.back()->heard_at = now;
  return slot.others.back().get();
}

WorkerPeer* WorkerPeers::served(const std::string& node) {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.served.get();
}

const WorkerPeer* WorkerPeers::twin_of(const std::string& node, const WorkerPeer& peer,
                                       const std::string& boot_id, Instant heard_since) {
  const WorkerPeer* first = served(node);
  if (first == nullptr || first == &peer || first->boot_id == boot_id) return nullptr;
  return first->heard_at >= heard_since ? first : nullptr;
}

void WorkerPeers::serve(const std::string& node, WorkerPeer& peer) {
  Slot& slot = nodes_[node];
  if (slot.served.get() == &peer) return;
  const auto found = std::find_if(slot.others.begin(), slot.others.end(),
                                  [&](const auto& other) { return other.get() == &peer; });
  MUSTER_ASSERT(found != slot.others.end());
  std::swap(slot.served, *found);
  if (*found == nullptr) {
    slot.others.erase(found);
  } else {
    (*found)->welcomed = false;
  }
}

bool NodeAlarms::raise(const std::string& node, const std::string& text, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = raised_.try_emplace(node, Raised{text, now, now});
  Raised& raised = found->second;
  const bool is_news =
      is_new || now - raised.seen_at > kAlarmStands || now - raised.logged_at >= kAlarmLogEvery;
  raised.text = text;
  raised.seen_at = now;
  if (is_news) raised.logged_at = now;
  return is_news;
}

std::vector<NodeAlarm> NodeAlarms::standing(Instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeAlarm> alarms;
  for (const auto& [node, raised] : raised_) {
    if (now - raised.seen_at <= kAlarmStands) alarms.push_back({node, raised.text});
  }
  return alarms;
}

}  // namespace muster
