// One attempt on one node as its worker sees it. Its legal transitions are listed here, once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/types/cause.h"
#include "base/types/fields.h"
#include "base/types/ids.h"

namespace muster {

enum class HeldPhase : std::uint8_t { kPreparing, kPrepared, kRunning, kStopping, kEnded };
template <>
struct EnumNames<HeldPhase> {
  static constexpr std::array<std::string_view, 5> kNames{"preparing", "prepared", "running",
                                                          "stopping", "ended"};
};

struct HeldTransition {
  HeldPhase from;
  HeldPhase to;
};
// A launcher that was away tells only where things stand, so steps may be left out.
constexpr std::array<HeldTransition, 10> kHeldTransitions{{
    {HeldPhase::kPreparing, HeldPhase::kPrepared},
    {HeldPhase::kPreparing, HeldPhase::kRunning},
    {HeldPhase::kPreparing, HeldPhase::kStopping},
    {HeldPhase::kPreparing, HeldPhase::kEnded},
    {HeldPhase::kPrepared, HeldPhase::kRunning},
    {HeldPhase::kPrepared, HeldPhase::kStopping},
    {HeldPhase::kPrepared, HeldPhase::kEnded},
    {HeldPhase::kRunning, HeldPhase::kStopping},
    {HeldPhase::kRunning, HeldPhase::kEnded},
    {HeldPhase::kStopping, HeldPhase::kEnded},
}};
constexpr bool can_follow(HeldPhase from, HeldPhase to) {
  for (const HeldTransition& legal : kHeldTransitions) {
    if (legal.from == from && legal.to == to) return true;
  }
  return false;
}

// What the controller is told of an attempt.
struct HeldAttempt {
  AttemptKey key;
  HeldPhase phase = HeldPhase::kPreparing;
  Epoch epoch;                       // Of the order it acts on.
  std::vector<std::uint16_t> ports;  // Held on this node.
  std::optional<ExitRecord> record;  // Has a value exactly when ended.
  auto operator<=>(const HeldAttempt&) const = default;
};

// Ended exactly when there is a record.
bool is_sound(const HeldAttempt& attempt);

// Brings `held` to where `said` stands. False, and nothing changed, when that would be an illegal
// transition. The same again is legal.
bool advance(HeldAttempt& held, const HeldAttempt& said);

}  // namespace muster
