// What deciding keeps beside the cluster: what is free, what ends when, who waits and whose start
// is planned. Told of every event.
#pragma once

#include "controller/core/cluster.h"
#include "controller/core/decide/backfill.h"
#include "controller/core/decide/calendar.h"
#include "controller/core/decide/gates.h"
#include "controller/core/decide/horizon.h"
#include "controller/core/decide/ledger.h"
#include "controller/core/decide/licences.h"
#include "controller/core/decide/limit_book.h"
#include "controller/core/decide/line.h"
#include "controller/core/decide/order.h"

namespace muster {

struct Board {
  Ledger ledger;
  Licences licences;
  Horizon horizon;
  Order order;
  Line line;
  LimitBook limits;
  Gates gates;
  Backfill backfill;  // Made anew by every whole round of passes.
  Calendar calendar;

  void rebuild(const Cluster& cluster);
  // After a configuration that changed limits and nothing else.
  void rebuild_limits(const Cluster& cluster);
  // Around Cluster::apply(event).
  void before(const Cluster& cluster, const Event& event);
  void after(const Cluster& cluster, const Event& event);
  void book(const Cluster& cluster, const FreedRoom& room);
  bool limits_only = false;  // What the configuration under way changes.
  Present present(const Cluster& cluster, Instant now) const {
    return {cluster, ledger, horizon, now, &calendar};
  }
};

}  // namespace muster
