// An attempt that holds capacity, from AttemptStarted to AttemptEnded. Its legal transitions are
// listed here, once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/rare.h"
#include "base/types/resources.h"
#include "base/types/time.h"

namespace muster {

enum class AttemptState : std::uint8_t { kPreparing, kRunning, kStopping, kEnded };
template <>
struct EnumNames<AttemptState> {
  static constexpr std::array<std::string_view, 4> kNames{"preparing", "running", "stopping",
                                                          "ended"};
};

struct AttemptTransition {
  AttemptState from;
  AttemptState to;
};
constexpr std::array<AttemptTransition, 5> kAttemptTransitions{{
    {AttemptState::kPreparing, AttemptState::kRunning},   // All members are prepared.
    {AttemptState::kPreparing, AttemptState::kStopping},  // One is not, or a person said so.
    {AttemptState::kRunning, AttemptState::kStopping},    // A member failed, or a person said so.
    {AttemptState::kRunning, AttemptState::kEnded},       // All members ended by themselves.
    {AttemptState::kStopping, AttemptState::kEnded},      // All members are proved to be gone.
}};
constexpr bool can_follow(AttemptState from, AttemptState to) {
  for (const AttemptTransition& legal : kAttemptTransitions) {
    if (legal.from == from && legal.to == to) return true;
  }
  return false;
}

// What few attempts have while they run.
struct AttemptExtras {
  std::vector<std::uint16_t> ports;  // Where they are not just one.
  std::optional<Cause> stopping;
  Instant stopping_at;
  std::map<NodeId, ExitRecord> members_ended;
  std::uint64_t members_digest = 0;  // Cached part of the cluster's digest.
};

// There are as many as jobs that run, up to a million: what most do not have is in the extras.
struct Attempt {
  AttemptKey key;
  std::shared_ptr<const Place> place;  // Never null; members in rank order.
  AttemptState state = AttemptState::kPreparing;
  bool launched = false;
  bool requeue = false;         // Another attempt follows: a person's wish, or preempted.
  bool limit_lowered = false;   // Its nodes keep the limit it began with: we keep the lower one.
  std::uint16_t port_only = 0;  // 0: ports are in the extras, if there are any.
  Instant started_at;
  WallTime started_wall;
  Instant launched_at;  // Meaningful when launched.
  WallTime launched_wall;
  std::shared_ptr<const std::string> address;  // Null: empty. Shared by those with the same.
  std::uint64_t place_digest = 0;              // Cached part of the cluster's digest.
  Rare<AttemptExtras> extras;

  const std::string& master_address() const;
  std::vector<std::uint16_t> ports() const;
  void set_ports(std::vector<std::uint16_t> ports);
  // Has a value exactly in kStopping.
  const std::optional<Cause>& stopping() const { return extras->stopping; }
  // Meaningful in kStopping; 0 if its record did not say.
  Instant stopping_at() const { return extras->stopping_at; }
  const std::map<NodeId, ExitRecord>& members_ended() const { return extras->members_ended; }
  const Member* find_member(NodeId node) const;  // Null: the node is not part of the place.
  bool all_ended() const { return members_ended().size() == place->members.size(); }
};
static_assert(sizeof(Attempt) <= 112, "300 bytes per running element, with all that follows it");

}  // namespace muster
