// The life of one attempt on one node.
#include "worker/core/held_attempt.h"

#include "base/types/result.h"

namespace muster {

bool is_sound(const HeldAttempt& attempt) {
  return (attempt.phase == HeldPhase::kEnded) == attempt.record.has_value();
}

bool advance(HeldAttempt& held, const HeldAttempt& said) {
  MUSTER_ASSERT(held.key == said.key && is_sound(said));
  if (said.phase == held.phase) {
    if (held.phase != HeldPhase::kEnded) held = said;
    return true;  // How it ended is never rewritten.
  }
  if (!can_follow(held.phase, said.phase)) return false;
  held = said;
  return true;
}

}  // namespace muster
