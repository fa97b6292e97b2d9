// Pins the processes of an attempt to cores near their GPUs, and names the nearest network adapter.
#pragma once

#include <vector>

#include "base/order/local_protocol.h"
#include "base/order/order.h"
#include "base/types/resources.h"
#include "worker/core/cpu_book.h"
#include "worker/host/topology.h"

namespace muster {

class Pinner {
 public:
  explicit Pinner(Topology topology);
  void set_gpus(std::vector<GpuFacts> gpus) { gpus_ = std::move(gpus); }

  // For each process that the node starts; the cores are held from now on. None: they run anywhere,
  // because no cores are known or too few are free.
  std::vector<RankPin> pin(const CommonOrder& common, const NodeOrder& node);
  CpuBook& book() { return book_; }

 private:
  std::string hca_of(const std::vector<const GpuFacts*>& gpus) const;

  CpuBook book_;
  std::vector<Hca> hcas_;
  std::vector<GpuFacts> gpus_;
};

}  // namespace muster
