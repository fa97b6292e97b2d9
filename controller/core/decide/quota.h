// Quotas: what of a queue an account has for sure, what it may borrow of what others leave idle,
// and who gives back when it is wanted. Counted within one queue, kept by events as the limits are.
// After the guaranteed, borrowed and lent parts of Kueue's cohorts, with one level of owners.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/ids.h"
#include "controller/core/attempt_life.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/ledger.h"

namespace muster {

// Of one owner in one queue: an account with a quota and those below it, or an account without
// one, whose guarantee is 0. All in thousandths of a GPU.
struct QuotaTally {
  std::string queue;
  std::string account;
  std::uint64_t guaranteed = 0;
  std::optional<std::uint64_t> borrow_max;
  std::uint64_t unlent = 0;  // Of the guarantee: never for others.
  std::uint64_t used = 0;
  std::uint64_t leaving = 0;  // Of that: is being stopped.

  std::uint64_t borrowed() const { return used > guaranteed ? used - guaranteed : 0; }
  std::uint64_t kept() const { return unlent > used ? unlent - used : 0; }
  // What may be taken back of it, beside what is being taken already.
  std::uint64_t reclaimable() const {
    const std::uint64_t stays = used - leaving;
    return stays > guaranteed ? stays - guaranteed : 0;
  }
};

struct QuotaBreach {
  const QuotaTally* tally = nullptr;  // Of the one who asks; until the next rebuild().
  std::uint64_t asked = 0;
  // Unset: its borrow_max. Set: what is there, in use and kept by those who lend no more.
  struct Pool {
    std::uint64_t capacity = 0;
    std::uint64_t used = 0;
    std::uint64_t kept = 0;
  };
  std::optional<Pool> pool;
  // Whatever ends.
  bool is_for_ever() const {
    return !pool && asked > tally->guaranteed + tally->borrow_max.value_or(0);
  }
};

class QuotaBook {
 public:
  void rebuild(const Cluster& cluster);
  bool is_empty() const { return queues_.empty(); }  // Nobody has one.
  bool has(std::string_view queue) const { return queues_.find(queue) != queues_.end(); }

  void begin(const Cluster& cluster, const Attempt& attempt);
  void end(const Cluster& cluster, const Attempt& attempt);
  // How many GPUs the queues have that somebody lends no more of; as of the last call.
  void measure(const Cluster& cluster, const Ledger& ledger);

  // Null: nobody has a quota of that queue, or there is no such account. Stays until rebuild().
  const QuotaTally* find(const Cluster& cluster, std::string_view queue, std::string_view account);
  // What keeps an account from using so much more of the queue now.
  std::optional<QuotaBreach> find_breach(const Cluster& cluster, std::string_view queue,
                                         std::string_view account, std::uint64_t milli);
  // Whether somebody uses more of the queue than is guaranteed to him and is not being stopped.
  bool is_borrowed_from(std::string_view queue) const;

 private:
  struct Queue {
    std::map<std::string, QuotaTally> owners;
    std::map<std::string, QuotaTally*, std::less<>> by_account;
    std::uint64_t used = 0;
    std::uint64_t kept = 0;         // Σ of the owners.
    std::uint64_t reclaimable = 0;  // Σ of the owners.
    bool has_unlent = false;
    std::optional<std::uint64_t> capacity;
  };
  QuotaTally* owner(const Cluster& cluster, Queue& queue, std::string_view name,
                    std::string_view account);
  void count(const Cluster& cluster, const Attempt& attempt, bool begins);

  std::map<std::string, Queue, std::less<>> queues_;
};

// A line for each queue whose quotas guarantee more GPUs than its nodes have, as far as nodes are
// known; when there is none, one if all queues together do. Broken GPUs and nodes that are away
// count: they come back.
std::vector<std::string> guarantee_warnings(const Cluster& cluster, const Ledger& ledger);

// Of one who needs room.
struct Claimant {
  std::string_view queue;
  std::string_view account;
  bool is_owed = false;      // What it asks for is guaranteed to it.
  bool may_reclaim = false;  // And it has waited for the grace: others give back what they borrow.
};

// What quotas say about whom to stop for a claimant. Attempts of those who use more than is
// guaranteed to them may go as far as they keep that. What is guaranteed goes, by whatever rule,
// for those only to whom it is guaranteed as well: the owner itself, or a claimant that is owed.
class Reclaim {
 public:
  Reclaim(const Cluster& cluster, QuotaBook& book, const Claimant& claimant);

  struct Claim {
    const QuotaTally* borrower = nullptr;
    std::uint64_t milli = 0;  // All that the attempt holds.
  };
  using Taken = std::map<const QuotaTally*, std::uint64_t>;

  bool takes_back() const { return claimant_.may_reclaim; }
  // Without any other rule: in the claimant's own queue.
  bool takes_back(const AttemptKey& key) const;
  // A rule is not enough: there must be a claim on it.
  bool is_guarded(const AttemptKey& key) const;
  // Null: nothing of its owner's is borrowed, or less than it holds.
  std::optional<Claim> claim_on(const AttemptKey& key) const;
  // Whether the borrower keeps its guarantee when this goes beside what is taken.
  static bool is_covered(const Taken& taken, const Claim& claim);

 private:
  const Cluster& cluster_;
  QuotaBook& book_;
  Claimant claimant_;
  const QuotaTally* own_ = nullptr;
};

}  // namespace muster
