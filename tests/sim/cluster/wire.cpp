// A link with a will of its own.
#include "tests/sim/cluster/wire.h"

#include <algorithm>

#include "tests/sim/cluster/controller.h"
#include "tests/sim/cluster/node.h"

namespace muster::sim {

void Wire::send_up(std::string packet) { send(upward_, true, std::move(packet)); }
void Wire::send_down(std::string packet) { send(downward_, false, std::move(packet)); }

void Wire::send(Direction& direction, bool up, std::string packet) {
  if (!up_) return;
  const bool is_rough = !world_.healed;
  if (is_rough && world_.now() < direction.muted_until) return;
  if (is_rough && world_.rng.chance(world_.plan.loss)) return;
  put(direction, up, packet);
  if (is_rough && world_.rng.chance(world_.plan.repeat)) put(direction, up, packet);
}

void Wire::put(Direction& direction, bool up, const std::string& packet) {
  Instant arrival =
      world_.now() + world_.up_to(world_.healed ? milliseconds(2) : world_.plan.delay_max);
  const bool overtakes = !world_.healed && world_.rng.chance(world_.plan.reorder);
  if (!overtakes) arrival = std::max(arrival, direction.last_arrival);
  direction.last_arrival = std::max(arrival, direction.last_arrival);
  world_.agenda.after(arrival - world_.now(), [this, up, packet, number = number_] {
    // What an old connection carried may still arrive upwards: the server had it in its buffers.
    const bool is_stale = number != number_ || !up_;
    if (is_stale && (!up || world_.rng.chance(500))) return;
    deliver(up, packet);
  });
}

void Wire::deliver(bool up, const std::string& packet) {
  if (up) {
    world_.controller->receive(node_, packet);
  } else {
    world_.nodes[node_]->receive(packet);
  }
}

void Wire::cut(Duration patience) {
  up_ = false;
  try_connect(patience);
}

void Wire::mute(bool up, Duration how_long) {
  (up ? upward_ : downward_).muted_until = world_.now() + how_long;
}

void Wire::try_connect(Duration patience) {
  world_.agenda.after(patience, [this, attempt = ++attempts_] { connect(attempt); });
}

void Wire::connect(std::uint64_t attempt) {
  if (attempt != attempts_ || up_) return;
  if (!world_.controller->is_up() || !world_.nodes[node_]->is_worker_up())
    return try_connect(milliseconds(500));
  up_ = true;
  ++number_;
  upward_.last_arrival = downward_.last_arrival = world_.now();
  world_.nodes[node_]->connected();
}

}  // namespace muster::sim
