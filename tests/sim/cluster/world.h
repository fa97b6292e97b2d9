// What every part of a simulated cluster shares, and the parts themselves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/types/rng.h"
#include "tests/sim/cluster/agenda.h"
#include "tests/sim/cluster/checker.h"
#include "tests/sim/cluster/faults.h"

namespace muster::sim {

class Clients;
class Controller;
class Node;
class Wire;

struct World {
  World(std::uint64_t seed, Planted with);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Instant now() const { return agenda.now(); }
  Duration up_to(Duration most) {
    return microseconds(
        static_cast<std::int64_t>(rng.between(1, static_cast<std::uint64_t>(most.us))));
  }
  void note(const std::string& line) { trace.note(agenda.now(), line); }

  Rng rng;
  Planted planted;
  Plan plan;
  Agenda agenda;
  Trace trace;
  Checker checker;
  bool healed = false;  // From here on nothing goes wrong any more.
  std::unique_ptr<Controller> controller;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Wire>> wires;  // Parallel to nodes.
  std::unique_ptr<Clients> clients;
};

// How one seed went.
struct Verdict {
  std::string violation;  // Empty: all invariants held.
  std::uint64_t hash = 0;
  Duration simulated;
  std::size_t acknowledged = 0;
  std::size_t starts = 0;
  std::string plan;
  std::vector<std::string> lines;  // Of the trace, when they were asked for.
};

Verdict run_seed(std::uint64_t seed, Planted planted, bool keep_lines = false);

}  // namespace muster::sim
