// Reservations to rows.
#include "controller/host/reservation_rows.h"

#include "base/types/hostlist.h"

namespace muster {
namespace {

// A maintenance comes before what it overlaps.
bool comes_first(const Reservation& a, WallWindow at, const Reservation& b, WallWindow other,
                 WallTime now) {
  const bool a_is_on = at.from <= now;
  const bool b_is_on = other.from <= now;
  if (a_is_on && b_is_on && a.maintenance != b.maintenance) return a.maintenance;
  return at.from < other.from;
}

}  // namespace

std::vector<ReservationRow> reservation_rows(const std::vector<Reservation>& reservations,
                                             WallTime now) {
  std::vector<ReservationRow> rows;
  for (const Reservation& reservation : reservations) {
    ReservationRow row;
    const auto window = occurrence_after(reservation, now);
    row.name = reservation.name;
    row.state = !window ? "over" : window->from <= now ? "active" : "waiting";
    row.nodes = compress_hostlist(reservation.nodes);
    row.nodes_count = static_cast<std::uint32_t>(reservation.nodes.size());
    row.start = window ? window->from : reservation.start;
    row.end = WallTime{row.start.us + reservation.duration.us};
    row.every = reservation.every;
    row.users = reservation.users;
    row.accounts = reservation.accounts;
    row.maintenance = reservation.maintenance;
    row.flex = reservation.flex;
    row.overlap = reservation.overlap;
    row.stop_at_end = reservation.stop_at_end;
    row.reason = reservation.reason;
    row.by = reservation.by;
    row.licences = reservation.licences;
    rows.push_back(std::move(row));
  }
  return rows;
}

ReservedNodes::ReservedNodes(const std::vector<Reservation>& reservations, WallTime now)
    : now_(now) {
  for (const Reservation& reservation : reservations) {
    const auto window = occurrence_after(reservation, now);
    if (!window) continue;
    for (const std::string& node : reservation.nodes) {
      Next& next = next_[node];
      if (next.reservation != nullptr &&
          !comes_first(reservation, *window, *next.reservation, next.window, now))
        continue;
      next = Next{&reservation, *window};
    }
  }
}

void ReservedNodes::fill(NodeRow& row) const {
  const auto found = next_.find(row.name);
  if (found == next_.end()) return;
  const auto& [reservation, window] = found->second;
  row.reservation = reservation->name;
  row.reserved_from = window.from;
  row.reserved_until = window.until;
  if (row.state == "up" && window.from <= now_)
    row.state = reservation->maintenance ? "maintenance" : "reserved";
}

}  // namespace muster
