// One step of the engine under way: decide on what is, emit what happened, errand what must be
// told. Internal to the core.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "controller/core/decide/board.h"
#include "controller/core/decide/estimate.h"
#include "controller/core/decide/schedule.h"
#include "controller/core/engine.h"

namespace muster {

// A record holds at most twice as many (controller/record). What is left over is named in a note,
// or waits for the next tick.
constexpr std::size_t kEventsPerStepMax = 50000;

// What the engine remembers between steps.
struct Brain {
  Cluster cluster;
  Liveness liveness;
  Board board;
  PassCursor pass;
  Estimates estimates;
  std::set<std::pair<Instant, ElementKey>> backoffs;  // Pending elements that wait for a time.
  Seq seq;
  Changes changes;
  std::pair<Seq, JobId> forget_from;  // Where looking for jobs to forget goes on.
  bool windows_moved = false;  // Of reservations, since the last tick.

  void apply(const Event& event, const Stamp& stamp);
  void rebuild();
};

class Step {
 public:
  Step(Brain& brain, Now now, Outcome& out) : brain_(brain), now_(now), out_(out) {}

  const Cluster& cluster() const { return brain_.cluster; }
  Liveness& liveness() { return brain_.liveness; }
  Brain& brain() { return brain_; }
  const Gates& gates() const { return brain_.board.gates; }
  Now now() const { return now_; }
  Outcome& out() { return out_; }

  // It has happened: recorded and applied at once, so what is decided next sees it.
  void emit(Event event);
  void send(Effect effect) { out_.effects.push_back(std::move(effect)); }
  void note(std::string line) { out_.reply.notes.push_back(std::move(line)); }
  void refuse(Error error) { out_.reply.error = std::move(error); }
  void want_pass() { out_.pass_wanted = true; }
  bool is_full() const { return out_.record && out_.record->events.size() >= kEventsPerStepMax; }

 private:
  Brain& brain_;
  Now now_;
  Outcome& out_;
};

// "user kim (uid 1003)", for causes and audit.
std::string name_of_requester(const Requester& who);

}  // namespace muster
