// Fair share: who has used less than their share comes first. Fair tree (Cox and Levitt, Slurm User
// Group 2014): siblings by shares over usage, from the root down, so an account never suffers
// from what its children do to each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/usage.h"

namespace muster {

constexpr std::uint32_t kFactorOne = 1000000;   // A factor of 1.
constexpr std::uint64_t kPartOne = 1000000000;  // A part of 1.

// A node of the tree, for people: shares and usage as parts of the whole cluster.
struct ShareRow {
  std::string account;
  std::string user;  // Empty: the account itself.
  Uid uid;
  std::uint32_t depth = 0;
  std::uint64_t share = 0;            // Of the cluster, in parts of kPartOne.
  std::uint64_t used = 0;             // Of what everybody used, decayed; as well.
  std::uint32_t factor = kFactorOne;  // Meaningful for a user.
};

class Shares {
 public:
  void rebuild(const Cluster& cluster);
  void launched(const Cluster& cluster, const AttemptKey& key);
  void ended(const AttemptKey& key);

  // Counts anew. What runs is charged up to now.
  void refresh(const Cluster& cluster, Instant now);
  // As of the last refresh: 0…kFactorOne, higher comes first. Somebody new stands where one who has
  // used nothing would.
  std::uint32_t factor(const std::string& account, Uid uid) const;
  const std::vector<ShareRow>& rows() const { return rows_; }

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
  std::map<UsageKey, std::uint32_t> factors_;
  std::map<std::string, std::uint32_t> newcomers_;  // By account.
  std::vector<ShareRow> rows_;
};

}  // namespace muster
