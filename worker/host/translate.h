// The same thing in three tongues: the controller's messages, the pure worker's values, the
// launcher's frames.
#pragma once

#include <string>

#include "base/message/worker.h"
#include "base/order/local_protocol.h"
#include "base/types/result.h"
#include "worker/core/held_attempt.h"
#include "worker/host/pinner.h"

namespace muster {

HeldAttempt held_of(const LocalState& state);
ReportPart report_of(const HeldAttempt& attempt);

// An order on its way to the launcher. epoch is 0 where the order carries none.
struct LauncherOrder {
  AttemptKey key;
  Epoch epoch;
  std::string frame;
};

// kInvalid or kCorrupt when the launcher could not read it either. Whether the controller signed it
// is for the launcher to find out.
// What it starts is pinned.
Result<LauncherOrder> order_of(const PreparePart& part, Pinner& pinner);
Result<LauncherOrder> order_of(const GoPart& part);
Result<LauncherOrder> order_of(const KillPart& part);
Result<LauncherOrder> order_of(const SignalPart& part);
Result<LauncherOrder> forget_order(AttemptKey key);

}  // namespace muster
