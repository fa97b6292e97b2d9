// The connection between one worker and the controller: it loses, repeats, reorders, delays, breaks
// and goes mute.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/cluster/world.h"

namespace muster::sim {

class Wire {
 public:
  Wire(World& world, std::size_t node) : world_(world), node_(node) {}

  void send_up(std::string packet);    // From the worker.
  void send_down(std::string packet);  // From the controller.
  void cut(Duration patience);         // And tries again after that long.
  void mute(bool up, Duration how_long);
  // One of the ends came up: connects soon.
  void try_connect(Duration patience);
  bool is_up() const { return up_; }

 private:
  struct Direction {
    Instant last_arrival;
    Instant muted_until;
  };
  void send(Direction& direction, bool up, std::string packet);
  void put(Direction& direction, bool up, const std::string& packet);
  void deliver(bool up, const std::string& packet);
  void connect(std::uint64_t attempt);

  World& world_;
  std::size_t node_;
  bool up_ = false;
  std::uint64_t number_ = 0;    // Of the connection.
  std::uint64_t attempts_ = 0;  // Only the latest try counts.
  Direction upward_;
  Direction downward_;
};

}  // namespace muster::sim
