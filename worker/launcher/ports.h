// Rendezvous ports of this node: who holds which, so that no two attempts ever get the same.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/order/fd.h"
#include "base/types/result.h"

namespace muster {

struct HeldPort {
  std::uint16_t port = 0;
  Fd socket;  // Bound with SO_REUSEADDR and never listening: a job that also sets it may bind over.
};

class PortLedger {
 public:
  PortLedger(std::uint16_t first, std::uint16_t last) : first_(first), last_(last), next_(first) {}
  // Skips ports that others on this machine use. kLimit when the range has not enough left.
  Result<std::vector<HeldPort>> take(std::size_t count);
  void note(const std::vector<std::uint16_t>& ports) { taken_.insert(ports.begin(), ports.end()); }
  void give_back(const std::vector<std::uint16_t>& ports);

 private:
  std::uint16_t first_;
  std::uint16_t last_;
  std::uint16_t next_;
  std::set<std::uint16_t> taken_;
};

}  // namespace muster
