// Fair share: who has used less than their share comes first. Fair tree (Cox and Levitt, Slurm User
// Group 2014): siblings by shares over usage, from the root down, so an account never suffers
// from what its children do to each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/standing.h"
#include "controller/core/usage.h"

namespace muster {

class Shares {
 public:
  void rebuild(const Cluster& cluster);
  void launched(const Cluster& cluster, const AttemptKey& key);
  void ended(const AttemptKey& key);

  struct Count {
    std::shared_ptr<const ShareFactors> factors;        // Never null.
    std::shared_ptr<const std::vector<ShareRow>> rows;  // Never null.
  };
  // Counted anew. What runs is charged up to now.
  Count count(const Cluster& cluster, Instant now) const;
  void refresh(const Cluster& cluster, Instant now);
  // As of the last refresh; these objects do not change.
  const std::shared_ptr<const ShareFactors>& factors() const { return factors_; }
  const std::shared_ptr<const std::vector<ShareRow>>& rows_shared() const { return rows_; }
  const std::vector<ShareRow>& rows() const { return *rows_; }

 private:
  struct Running {
    UsageKey key;
    std::uint64_t milli = 0;
    Instant since;
  };
  struct Flow {  // Sums over the running attempts of one user: what they used by now is linear.
    std::uint64_t milli = 0;
    std::uint64_t milli_ms = 0;  // Σ milli × since.
  };
  class Tree;

  std::map<AttemptKey, Running> running_;
  std::map<UsageKey, Flow> flows_;
  std::shared_ptr<const ShareFactors> factors_ = std::make_shared<const ShareFactors>();
  std::shared_ptr<const std::vector<ShareRow>> rows_ =
      std::make_shared<const std::vector<ShareRow>>();
};

}  // namespace muster
