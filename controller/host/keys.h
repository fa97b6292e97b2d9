// The controller's own secrets, made at the first start, in <state>/keys (mode 0700): the transport
// key of its ports and the key that signs orders.
#pragma once

#include <string>

#include "base/link/keys.h"
#include "base/order/signing.h"
#include "base/types/result.h"

namespace muster {

struct ControllerKeys {
  KeyPair transport;
  SigningKey orders;
};

// Also writes transport.pub (Z85) and orders.pub (what launchers pin: --keys FILE) beside them,
// readable by all. kInvalid: a key file that others could read or change.
Result<ControllerKeys> load_controller_keys(const std::string& state_dir, const Uuid& cluster);

}  // namespace muster
