// What is held against each limit, kept by events: who may start, or enter, beside what there is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/quota.h"
#include "controller/core/verdict.h"

namespace muster {

enum class LimitOwner : std::uint8_t { kUser, kAccount, kQueue, kQos };
enum class LimitEach : std::uint8_t { kAll, kUser, kAccount };

// Whose jobs a limit counts: all of its owner's, or those of one user or account among them.
struct LimitScope {
  LimitOwner owner = LimitOwner::kUser;
  LimitEach each = LimitEach::kAll;
  Uid uid;              // Of owner kUser, and of each kUser.
  std::string name;     // Of the owner; of a user as well.
  std::string account;  // Of each kAccount: it and those below it.
  auto operator<=>(const LimitScope&) const = default;
};

enum class LimitKind : std::uint8_t {
  kRunningJobs,
  kQueuedJobs,
  kGpus,  // In thousandths.
  kCpus,
  kNodes,
  kGpuMinutes,  // In thousandths of a GPU times seconds.
  kTimeMax,     // In seconds.
  kArrayElements,
};

// What an attempt holds, or a job would.
struct Holding {
  std::uint64_t gpus_milli = 0;
  std::uint64_t cpus = 0;
  std::uint64_t nodes = 0;
  Duration time;
};
Holding holding_of(const JobTerms& terms);  // At the least.
Holding holding_of(const Place& place, Duration time);

struct LimitAmount {
  LimitKind kind = LimitKind::kRunningJobs;
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  std::uint64_t asked = 0;
};
struct Breach {
  LimitScope scope;
  LimitAmount amount;
  bool is_for_ever() const { return amount.asked > amount.limit; }
};

// Whose limits count for a job.
struct LimitParty {
  Uid uid;
  std::string_view user;
  std::string_view queue;
  std::string_view account;
  std::string_view qos;
};
LimitParty party_of(const JobFacts& job);
// The account and those above it.
std::vector<const AccountConfig*> line_of_accounts(const Cluster& cluster,
                                                   std::string_view account);
// Whether jobs of that account count for the scope's each kAccount, or owner kAccount.
bool is_within(const Cluster& cluster, std::string_view account, std::string_view above);
WaitReason reason_of(const LimitScope& scope);

class LimitBook {
 public:
  void rebuild(const Cluster& cluster);
  // Neither a limit nor a quota is set: nothing is counted.
  bool is_empty() const { return !has_any_ && quotas.is_empty(); }

  void enter(const Cluster& cluster, const JobFacts& job);  // The job is in the queue.
  void leave(const Cluster& cluster, const JobFacts& job);
  void begin(const Cluster& cluster, const Attempt& attempt);
  void end(const Cluster& cluster, const Attempt& attempt);

  // What keeps a job that would hold so much from starting now; nothing when nothing does.
  std::optional<Breach> find_breach(const Cluster& cluster, const LimitParty& party,
                                    const Holding& holding, Instant now);
  std::vector<Breach> breaches(const Cluster& cluster, const LimitParty& party,
                               const Holding& holding, Instant now);

  struct Tally {
    LimitScope scope;
    Limits limits;
    std::uint64_t running = 0;
    std::uint64_t queued = 0;
    Holding held;
    // For gpu_minutes only. What is not launched yet has all of its time before it.
    std::uint64_t unlaunched_milli_s = 0;
    std::uint64_t launched_milli = 0;
    std::uint64_t milli_ends_s = 0;                // Σ launched milli-GPUs × end in seconds.
    std::map<std::int64_t, std::uint64_t> ends;    // Launched milli-GPUs by end in seconds.
    std::uint64_t gpu_milli_s(Instant now) const;  // Left of what runs.
  };
  // Of every limit that counts for the party; they stay where they are until rebuild().
  const std::vector<Tally*>& tallies(const Cluster& cluster, const LimitParty& party);

  QuotaBook quotas;  // Told of what begins and ends as this is.

 private:
  struct PartyKey {
    Uid uid;
    std::string queue;
    std::string account;
    std::string qos;
    auto tie() const {
      return std::tuple<Uid, std::string_view, std::string_view, std::string_view>(uid, queue,
                                                                                   account, qos);
    }
  };
  struct PartyLess {
    using is_transparent = void;
    static auto tie(const PartyKey& key) { return key.tie(); }
    static auto tie(const LimitParty& party) {
      return std::tuple(party.uid, party.queue, party.account, party.qos);
    }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return tie(a) < tie(b);
    }
  };
  void hold(const Cluster& cluster, const Attempt& attempt);
  static void count_minutes(Tally& tally, const Attempt& attempt, const Holding& holding,
                            bool begins);
  void add(std::vector<Tally*>& to, LimitScope scope, const Limits& limits);
  std::vector<Tally*> collect(const Cluster& cluster, const LimitParty& party);

  bool has_any_ = false;
  std::map<LimitScope, Tally> tallies_;
  std::map<PartyKey, std::vector<Tally*>, PartyLess> parties_;
};

}  // namespace muster
