// Reservations as readers see them, by the wall clock.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/message/cluster_request.h"
#include "controller/core/reservation.h"

namespace muster {

std::vector<ReservationRow> reservation_rows(const std::vector<Reservation>& reservations,
                                             WallTime now);

// What is reserved where: asked node by node.
class ReservedNodes {
 public:
  // The reservations must outlive it.
  ReservedNodes(const std::vector<Reservation>& reservations, WallTime now);
  // Names the reservation that is on or comes next. An "up" node that is in one now is "reserved",
  // or in "maintenance".
  void fill(NodeRow& row) const;

 private:
  struct Next {
    const Reservation* reservation = nullptr;
    WallWindow window;
  };
  std::map<std::string_view, Next> next_;  // By node.
  WallTime now_;
};

}  // namespace muster
