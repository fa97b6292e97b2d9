// Nodes and licences that are kept for some jobs, or for nobody, at some times. Times are those of
// the wall clock: they are what people said, and move with its corrections. A recurring one is a
// rule; its occurrences are counted when they are asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/job_spec.h"
#include "base/types/time.h"

namespace muster {

struct Reservation {
  std::string name;
  std::vector<std::string> nodes;  // Names, each once. Empty: its jobs may run on any.
  WallTime start;                  // Of the first occurrence.
  Duration duration;
  Duration every;                     // From one start to the next, at least the duration; 0: once.
  std::vector<std::string> users;     // Empty: any.
  std::vector<std::string> accounts;  // Empty: any. A job must match both lists.
  bool maintenance = false;           // Nobody's jobs run in it.
  bool flex = false;                  // Its jobs may also start before it and on other nodes.
  bool ignore_running = false;
  bool overlap = false;
  bool stop_at_end = false;  // Jobs of it that still run at its end are stopped.
  std::string reason;
  std::string by;
  std::vector<LicenceCount> licences;  // In the order of their names.
  auto operator<=>(const Reservation&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "nodes", self.nodes);
    visit(3, "start", self.start);
    visit(4, "duration", self.duration);
    visit(5, "every", self.every);
    visit(6, "users", self.users);
    visit(7, "accounts", self.accounts);
    visit(8, "maintenance", self.maintenance);
    visit(9, "flex", self.flex);
    visit(10, "ignore_running", self.ignore_running);
    visit(11, "overlap", self.overlap);
    visit(12, "stop_at_end", self.stop_at_end);
    visit(13, "reason", self.reason);
    visit(14, "by", self.by);
    visit(15, "licences", self.licences);
  }
};

// From `from`, until just before `until`.
struct WallWindow {
  WallTime from;
  WallTime until;
};

// The first occurrence that ends after `at`. Null: there is none any more.
std::optional<WallWindow> occurrence_after(const Reservation& reservation, WallTime at);
// The last end of an occurrence that is not after `at`. Null: none has ended.
std::optional<WallTime> end_before(const Reservation& reservation, WallTime at);
// Whether any occurrences of the two have a moment in common, whatever their nodes.
bool ever_meet(const Reservation& a, const Reservation& b);
bool admits(const Reservation& reservation, const std::string& user, const std::string& account);

// "of users kim, lee and account lab", "for maintenance (new kernel)".
std::string owners_text(const Reservation& reservation);

}  // namespace muster
