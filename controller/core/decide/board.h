// What deciding keeps beside the cluster: the ledger and the line, told of every event.
#pragma once

#include "controller/core/cluster.h"
#include "controller/core/decide/ledger.h"
#include "controller/core/decide/line.h"

namespace muster {

struct Board {
  Ledger ledger;
  Line line;

  void rebuild(const Cluster& cluster);
  // Around Cluster::apply(event).
  void before(const Cluster& cluster, const Event& event);
  void after(const Cluster& cluster, const Event& event);
};

}  // namespace muster
