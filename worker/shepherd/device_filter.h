// Which device nodes an attempt may open: a short list everybody gets, what GPU libraries share,
// and its own GPUs. Attached to the attempt's groups before anything runs in them; a filter that
// cannot be attached and read back is an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/order/order.h"
#include "base/types/result.h"
#include "worker/shepherd/cgroup.h"

namespace muster {

// A character device that may be read and written, never made.
struct DeviceRule {
  static constexpr std::uint32_t kAnyMinor = 0xffffffffU;
  std::uint32_t major = 0;
  std::uint32_t minor = kAnyMinor;
  auto operator<=>(const DeviceRule&) const = default;
};

// kUnavailable when a granted device's node is missing or is no character device.
Result<std::vector<DeviceRule>> device_rules(const std::vector<OrderDevice>& granted);

// On v2 by a BPF program (also on a v2 tree without controllers), else by the v1 devices
// controller.
Result<void> attach_device_filter(const AttemptCgroup& cgroup,
                                  const std::vector<OrderDevice>& granted);

}  // namespace muster
