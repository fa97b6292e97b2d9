// An engine's effect with everything a node must be told, taken on the engine's thread: whoever
// carries it out never looks at the engine.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/order/order.h"
#include "controller/core/engine.h"

namespace muster {

// What is the same for all nodes of an attempt.
struct LaunchFacts {
  AttemptKey key;
  Epoch epoch;
  std::shared_ptr<const JobFacts> job;
  std::shared_ptr<const Place> place;
  std::vector<std::string> node_names;  // Parallel to place->members.
  Duration kill_wait;
};
struct PrepareErrand {
  std::shared_ptr<const LaunchFacts> facts;
  std::uint32_t member = 0;
  std::vector<OrderDevice> devices;
};
struct GoErrand {
  AttemptKey key;
  Epoch epoch;
  std::string master_address;
  std::vector<std::uint16_t> ports;
};
struct Errand {
  std::string node;
  std::variant<PrepareErrand, GoErrand, SendKill, SendSignal, SendForget> what;
};

// Effects about nodes or attempts that are gone by now are left out.
std::vector<Errand> errands_of(const std::vector<Effect>& effects, const Engine& engine);

}  // namespace muster
