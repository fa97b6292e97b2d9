// What turns are counted from, at one moment: small, immutable, and for any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "controller/core/config.h"
#include "controller/core/job.h"
#include "controller/core/usage.h"

namespace muster {

constexpr std::uint32_t kFactorOne = 1000000;   // A factor of 1.
constexpr std::uint64_t kPartOne = 1000000000;  // A part of 1.
constexpr std::int64_t kPoint = 1000000;        // Scores are counted in millionths of a point.

// A node of the tree of accounts, for people: shares and usage as parts of the whole cluster. Rows
// come as the tree is read: each before what stands below it.
struct ShareRow {
  std::string account;
  Uid uid;
  bool is_user = false;
  std::uint32_t depth = 0;
  std::uint64_t share = 0;            // Of the cluster, in parts of kPartOne.
  std::uint64_t used = 0;             // Of what everybody used, decayed; as well.
  std::uint32_t factor = kFactorOne;  // Of an account: of somebody new in it.
};

// 0…kFactorOne, higher comes first. Somebody new stands where one who has used nothing would.
struct ShareFactors {
  std::map<UsageKey, std::uint32_t> users;
  std::map<std::string, std::uint32_t> newcomers;  // By account.
  std::uint32_t of(const std::string& account, Uid uid) const;
};

struct Standing {
  std::shared_ptr<const ShareFactors> factors;        // Never null.
  std::shared_ptr<const std::vector<ShareRow>> rows;  // Never null.
  std::uint64_t gpus_total = 0;                       // Of all nodes.
  Instant at;
};

// Parts of kFactorOne.
struct PriorityFactors {
  std::uint32_t age = 0;
  std::uint32_t fair_share = 0;
  std::uint32_t size = 0;
  std::int32_t qos = 0;  // Points.
};

// `age` is the job's, or of the one whose place it took.
PriorityFactors factors_of(const Standing& standing, const ClusterConfig& config,
                           const JobFacts& job, Duration age);
// Higher comes first, in parts of kPoint.
std::int64_t score_of(const PriorityConfig& weights, const JobFacts& job,
                      const PriorityFactors& factors);
// Whose place the job took when it was put at the top; nothing when it stands in its own.
std::optional<JobId> place_taken(const Job& job);

}  // namespace muster
