// What an operator asks of a reservation: to make one, or to change what is given of one that
// exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/job_spec.h"
#include "base/types/time.h"

namespace muster {

constexpr std::size_t kReservationsMax = 1000;
constexpr std::size_t kReservationNamesMax = 1000;  // Users, and accounts, of one.

struct ReservationSpec {
  std::vector<std::string> nodes;   // Empty: `count` of them are chosen, or they stay as they are.
  std::uint32_t count = 0;          // 0: not asked for.
  std::uint32_t gpus_per_node = 0;  // That nodes to be chosen must have at least.
  std::optional<WallTime> start;    // Of the first time; 0: now.
  std::optional<WallTime> end;      // Instead of duration.
  std::optional<Duration> duration;
  std::optional<Duration> every;  // From one start to the next; 0: once.
  std::optional<std::vector<std::string>> users;
  std::optional<std::vector<std::string>> accounts;
  std::string reason;           // For people; empty: none, or as it is.
  bool maintenance = false;     // Nobody's jobs run in it.
  bool flex = false;            // Its jobs may also start before it and on other nodes.
  bool ignore_running = false;  // What runs past its start on its nodes is no objection.
  bool overlap = false;         // Of a maintenance: nor are other reservations.
  bool stop_at_end = false;     // Jobs of it that still run at its end are stopped.
  std::optional<std::vector<LicenceCount>> licences;  // Kept for it, with nodes or without.
  auto operator<=>(const ReservationSpec&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes", self.nodes);
    visit(2, "count", self.count);
    visit(3, "gpus_per_node", self.gpus_per_node);
    visit(4, "start", self.start);
    visit(5, "end", self.end);
    visit(6, "duration", self.duration);
    visit(7, "every", self.every);
    visit(8, "users", self.users);
    visit(9, "accounts", self.accounts);
    visit(10, "reason", self.reason);
    visit(11, "maintenance", self.maintenance);
    visit(12, "flex", self.flex);
    visit(13, "ignore_running", self.ignore_running);
    visit(14, "overlap", self.overlap);
    visit(15, "stop_at_end", self.stop_at_end);
    visit(16, "licences", self.licences);
  }
};

}  // namespace muster
