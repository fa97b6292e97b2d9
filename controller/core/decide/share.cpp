// Ranking the tree of accounts.
#include "controller/core/decide/share.h"

#include <algorithm>
#include <limits>

namespace muster {
namespace {

std::uint64_t ms_of(Instant at) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(at.us, 0)) / 1000;
}

// In parts of kPartOne; exact to about one of them.
std::uint64_t part(std::uint64_t of, std::uint64_t whole) {
  constexpr std::uint64_t kWholeMax = std::uint64_t{1} << 33U;
  while (whole >= kWholeMax) {
    whole >>= 1U;
    of >>= 1U;
  }
  return whole == 0 ? 0 : of * kPartOne / whole;
}

}  // namespace

// Built for one refresh. Index 0 is the root.
class Shares::Tree {
 public:
  explicit Tree(const Cluster& cluster) {
    nodes_.emplace_back();
    for (const AccountConfig& account : cluster.config().accounts) {
      by_account_[account.name] = nodes_.size();
      Node node;
      node.account = account.name;
      node.shares = account.shares;
      nodes_.push_back(node);
    }
    for (const AccountConfig& account : cluster.config().accounts) {
      const auto parent = by_account_.find(account.parent);
      adopt(parent == by_account_.end() ? 0 : parent->second, by_account_.at(account.name));
    }
  }

  // An account that is no longer configured competes below the root.
  void add_user(const UsageKey& key, std::uint64_t used) {
    const auto [account, is_new] = by_account_.try_emplace(key.account, nodes_.size());
    if (is_new) {
      Node node;
      node.account = key.account;
      nodes_.push_back(node);
      adopt(0, account->second);
    }
    Node node;
    node.account = key.account;
    node.uid = key.uid;
    node.is_user = true;
    node.used = used;
    nodes_.push_back(node);
    adopt(account->second, nodes_.size() - 1);
    ++users_;
  }

  void rank() {
    sum(0);
    spread(0);
    left_ = users_;
    walk(nodes_[0].children);
  }

  template <class Each>
  void each(Each each) const {
    visit(0, 0, each);
  }

  struct Node {
    std::string account;
    Uid uid;
    bool is_user = false;
    std::uint32_t shares = 1;
    std::uint64_t used = 0;
    std::vector<std::size_t> children;
    std::uint64_t level = 0;            // Shares over usage among its siblings, times kPartOne.
    std::uint64_t share = kPartOne;     // Of the cluster.
    std::uint32_t factor = kFactorOne;  // Of an account: of somebody new in it.
  };
  std::uint64_t used_of(const Node& node) const { return part(node.used, nodes_[0].used); }

 private:
  void adopt(std::size_t parent, std::size_t child) { nodes_[parent].children.push_back(child); }

  std::uint64_t sum(std::size_t at) {
    std::uint64_t used = nodes_[at].used;
    for (const std::size_t child : nodes_[at].children) used += sum(child);
    nodes_[at].used = used;
    return used;
  }

  void spread(std::size_t at) {
    std::uint64_t shares = 0;
    for (const std::size_t child : nodes_[at].children) shares += nodes_[child].shares;
    for (const std::size_t child : nodes_[at].children) {
      Node& node = nodes_[child];
      const std::uint64_t own = part(node.shares, shares);
      const std::uint64_t used = part(node.used, nodes_[at].used);
      node.share = nodes_[at].share * own / kPartOne;
      node.level = node.used == 0 ? std::numeric_limits<std::uint64_t>::max()
                                  : own * kPartOne / std::max<std::uint64_t>(used, 1);
      spread(child);
    }
  }

  // Of a user who comes next, or of somebody new who comes just before.
  std::uint32_t factor_now(bool is_new) const {
    const std::uint64_t rank = std::uint64_t{left_} * 2 + (is_new ? 1 : 0);
    return static_cast<std::uint32_t>(rank * kFactorOne / (std::uint64_t{users_} * 2 + 1));
  }

  // Those with the same level share a rank, and the children of such accounts compete as siblings.
  void walk(std::vector<std::size_t> siblings) {
    std::sort(siblings.begin(), siblings.end(), [&](std::size_t a, std::size_t b) {
      if (nodes_[a].level != nodes_[b].level) return nodes_[a].level > nodes_[b].level;
      return a < b;
    });
    for (std::size_t from = 0; from < siblings.size();) {
      std::size_t to = from;
      while (to < siblings.size() && nodes_[siblings[to]].level == nodes_[siblings[from]].level)
        ++to;
      std::vector<std::size_t> children;
      std::uint32_t tied = 0;
      for (std::size_t i = from; i < to; ++i) {
        Node& node = nodes_[siblings[i]];
        if (!node.is_user) continue;
        node.factor = factor_now(false);
        ++tied;
      }
      left_ -= tied;
      for (std::size_t i = from; i < to; ++i) {
        Node& node = nodes_[siblings[i]];
        if (node.is_user) continue;
        node.factor = factor_now(true);
        children.insert(children.end(), node.children.begin(), node.children.end());
      }
      if (!children.empty()) walk(children);
      from = to;
    }
  }

  template <class Each>
  void visit(std::size_t at, std::uint32_t depth, Each& each) const {
    for (const std::size_t child : nodes_[at].children) {
      each(nodes_[child], depth);
      visit(child, depth + 1, each);
    }
  }

  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> by_account_;
  std::uint32_t users_ = 0;
  std::uint32_t left_ = 0;
};

void Shares::rebuild(const Cluster& cluster) {
  running_.clear();
  flows_.clear();
  for (const auto& [key, attempt] : cluster.attempts()) {
    if (attempt.launched) launched(cluster, key);
  }
  refresh(cluster, cluster.applied_at());
}

void Shares::launched(const Cluster& cluster, const AttemptKey& key) {
  const Attempt& attempt = *cluster.find_attempt(key);
  const JobFacts& facts = cluster.find_job(key.job)->facts();
  Running running{{facts.account(), facts.uid()},
                  charged_milli(cluster, facts, *attempt.place),
                  attempt.launched_at};
  Flow& flow = flows_[running.key];
  flow.milli += running.milli;
  flow.milli_ms += running.milli * ms_of(running.since);
  running_.insert_or_assign(key, std::move(running));
}

void Shares::ended(const AttemptKey& key) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  const Running& running = found->second;
  const auto flow = flows_.find(running.key);
  flow->second.milli -= running.milli;
  flow->second.milli_ms -= running.milli * ms_of(running.since);
  if (flow->second.milli == 0) flows_.erase(flow);
  running_.erase(found);
}

void Shares::refresh(const Cluster& cluster, Instant now) {
  Count counted = count(cluster, now);
  factors_ = std::move(counted.factors);
  rows_ = std::move(counted.rows);
}

Shares::Count Shares::count(const Cluster& cluster, Instant now) const {
  const Duration half_life = cluster.config().priority.half_life;
  std::map<UsageKey, std::uint64_t> used;
  for (const auto& [key, usage] : cluster.usage()) used[key] = usage.decayed(now, half_life);
  for (const auto& [key, flow] : flows_) used[key] += flow.milli * ms_of(now) - flow.milli_ms;
  Tree tree(cluster);
  for (const auto& [key, amount] : used) tree.add_user(key, amount);
  tree.rank();
  auto factors = std::make_shared<ShareFactors>();
  auto rows = std::make_shared<std::vector<ShareRow>>();
  tree.each([&](const Tree::Node& node, std::uint32_t depth) {
    if (node.is_user)
      factors->users[{node.account, node.uid}] = node.factor;
    else
      factors->newcomers[node.account] = node.factor;
    rows->push_back(
        {node.account, node.uid, node.is_user, depth, node.share, tree.used_of(node), node.factor});
  });
  return {std::move(factors), std::move(rows)};
}

}  // namespace muster
