// Bugs that the simulator can be told to have, to prove that its checks would see them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/rng.h"
#include "base/types/time.h"

namespace muster::sim {

struct Planted {
  bool acknowledge_before_sync = false;  // Replies and orders do not wait for the disk.
  bool double_start = false;             // A restarted launcher forgets what it started.
  bool lost_grant = false;               // A restarted controller forgets one node's grants.
};

// How rough the world of one seed is. Times in a thousand are per message or per turn of the
// nemesis.
struct Plan {
  std::uint32_t nodes = 3;
  std::uint32_t gpus = 4;
  std::uint32_t jobs = 20;
  Duration chaos = seconds(60);
  std::uint32_t loss = 0;     // Milli.
  std::uint32_t repeat = 0;   // Milli.
  std::uint32_t reorder = 0;  // Milli.
  Duration delay_max = milliseconds(5);
  Duration sync_max = milliseconds(10);
  std::uint32_t reply_loss = 0;  // Milli.
  // Weights of what the nemesis does.
  std::uint32_t kill_controller = 0;
  std::uint32_t kill_worker = 0;
  std::uint32_t kill_launcher = 0;
  std::uint32_t reboot_node = 0;
  std::uint32_t cut_link = 0;
  std::uint32_t mute_link = 0;  // One direction swallows everything, unnoticed by the other end.
  std::uint32_t kill_shepherd = 0;
  std::uint32_t slow_disk = 0;
  Duration nemesis_every = seconds(4);
};

Plan plan_of(Rng& rng);
std::string to_text(const Plan& plan);

}  // namespace muster::sim
