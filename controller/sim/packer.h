// One way of choosing places for pods that stay.
#pragma once

#include <cstddef>
#include <memory>

#include "controller/sim/openb_trace.h"

namespace muster {

class Packer {
 public:
  virtual ~Packer() = default;
  // The pod, by its index in the trace, has arrived. True when it has a place now.
  virtual bool place(std::size_t pod) = 0;
};

// The production books and search: pods are jobs, nodes report what the trace says, CPUs are
// counted in thousandths. The trace must outlive it.
std::unique_ptr<Packer> make_muster_packer(const OpenbTrace& trace);
// To compare with. FGD: least growth of the GPUs that the trace's typical pods cannot use; it is
// told the whole list before the first arrival, as in the paper.
std::unique_ptr<Packer> make_fgd_packer(const OpenbTrace& trace);
// Least of CPU and GPU left over on the node, as parts of what the largest node has.
std::unique_ptr<Packer> make_bestfit_packer(const OpenbTrace& trace);

}  // namespace muster
