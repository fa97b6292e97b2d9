// Shares in plain words, and the factors of turns.
#include "controller/host/standings.h"

#include <algorithm>
#include <tuple>

namespace muster {
namespace {

constexpr std::size_t kNamesShown = 4;
constexpr std::uint64_t kPartsPerMillionth = kPartOne / 1000000;

std::uint32_t ppm(std::uint64_t part) {
  return static_cast<std::uint32_t>(part / kPartsPerMillionth);
}

// "61 %", "0.4 %"; `of` in parts of `whole`.
std::string percent(std::uint64_t of, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  const std::uint64_t tenths = (of * 1000 + whole / 2) / whole;
  std::string text = std::to_string(tenths / 10);
  if (tenths < 100 && tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " %";
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), kNamesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == names.size();
    text += (i == 0 ? "" : is_last ? " and " : ", ") + names[i];
  }
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " others";
  return text;
}

// As the fair tree ranks siblings: by share over usage.
bool comes_before(const ShareRow& a, const ShareRow& b) {
  if (a.used == 0 || b.used == 0) return a.used == 0 && b.used != 0;
  return a.share * b.used > b.share * a.used;
}

class OwnWords {
 public:
  OwnWords(const Standing& standing, const ClusterConfig& config, const NameOf& name_of)
      : rows_(*standing.rows), config_(config), name_of_(name_of) {
    std::vector<std::size_t> above;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      above.resize(rows_[i].depth);
      parents_.push_back(above.empty() ? rows_.size() : above.back());
      above.push_back(i);
    }
  }

  // A line for each level of the tree at which the user's accounts, and the user, have rivals.
  std::vector<std::string> of(const Requester& who) const {
    std::vector<std::string> lines;
    bool is_known = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].is_user || rows_[i].uid != who.uid) continue;
      is_known = true;
      add_chain(i, lines);
    }
    if (lines.empty())
      lines.push_back(is_known ? "nobody else has used anything lately: you are behind nobody"
                               : "you have used nothing lately: you come early");
    return lines;
  }

 private:
  void add_chain(std::size_t at, std::vector<std::string>& lines) const {
    std::vector<std::string> chain;
    for (; at != rows_.size(); at = parents_[at]) {
      std::string line = line_of(at);
      if (!line.empty()) chain.push_back(std::move(line));
    }
    for (auto line = chain.rbegin(); line != chain.rend(); ++line) {
      if (std::find(lines.begin(), lines.end(), *line) == lines.end()) lines.push_back(*line);
    }
  }

  std::string line_of(std::size_t at) const {
    std::vector<std::string> ahead;
    std::vector<std::string> behind;
    bool has_rivals = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == at || parents_[i] != parents_[at]) continue;
      has_rivals = true;
      if (comes_before(rows_[i], rows_[at])) ahead.push_back(name(i));
      if (comes_before(rows_[at], rows_[i])) behind.push_back(name(i));
    }
    if (!has_rivals) return "";
    return words(at) + ", so " + place(at, ahead, behind);
  }

  std::string name(std::size_t at) const {
    return rows_[at].is_user ? name_of_(rows_[at].uid) : rows_[at].account;
  }

  std::string words(std::size_t at) const {
    const ShareRow& row = rows_[at];
    const bool is_top = parents_[at] == rows_.size();
    const std::uint64_t share = is_top ? kPartOne : rows_[parents_[at]].share;
    const std::uint64_t used = is_top ? kPartOne : rows_[parents_[at]].used;
    const std::string within = is_top ? "" : " within account " + rows_[parents_[at]].account;
    return (row.is_user ? "you" + within + ": your" : "account " + row.account + within + ": its") +
           " share " + percent(row.share, share) + ", used " + percent(row.used, used) +
           " (what is " + to_text(config_.priority.half_life) + " old counts half)";
  }

  std::string place(std::size_t at, const std::vector<std::string>& ahead,
                    const std::vector<std::string>& behind) const {
    const std::string who = rows_[at].is_user ? "you are " : "it is ";
    if (ahead.empty() && behind.empty()) return who + "level with the others";
    if (behind.empty()) return who + "behind " + listed(ahead);
    if (ahead.empty()) return who + "before " + listed(behind);
    return who + "behind " + listed(ahead) + ", and before " + listed(behind);
  }

  const std::vector<ShareRow>& rows_;
  const ClusterConfig& config_;
  const NameOf& name_of_;
  std::vector<std::size_t> parents_;  // Their number: at the top.
};

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool is_meant(const JobsBody& which, const JobFacts& job) {
  const bool by_id =
      which.jobs.empty() || std::any_of(which.jobs.begin(), which.jobs.end(),
                                        [&](const JobChoice& one) { return one.job == job.id; });
  return by_id && is_among(which.users, job.user()) && is_among(which.queues, job.queue()) &&
         is_among(which.names, job.name);
}

const JobView* find_view(const ViewState& state, std::optional<JobId> id) {
  return id ? state.jobs.find(id->value) : nullptr;
}

TurnRow turn_row(const Standing& standing, const ViewState& state, const Job& job) {
  const JobFacts& facts = job.facts();
  const PriorityConfig& weights = state.config->priority;
  const JobView* before = find_view(state, place_taken(job));
  const Instant queued_at = (before == nullptr ? facts : before->job.facts()).submitted_at;
  const PriorityFactors factors =
      factors_of(standing, *state.config, facts, standing.at - queued_at);
  TurnRow row;
  row.job = facts.id;
  row.name = facts.name;
  row.user = facts.user();
  row.account = facts.account();
  row.queue = facts.queue();
  row.priority = facts.priority();
  for (const QueueConfig& queue : state.config->queues) {
    if (queue.name == facts.queue()) row.queue_priority = queue.priority;
  }
  row.qos = facts.qos();
  row.qos_points = factors.qos;
  row.nice = facts.nice();
  row.age_ppm = factors.age;
  row.fair_share_ppm = factors.fair_share;
  row.size_ppm = factors.size;
  row.points_milli = score_of(weights, facts, factors) / (kPoint / 1000);
  return row;
}

}  // namespace

SharesReply shares_reply(const Standing& standing, const ClusterConfig& config,
                         const Requester& who, const NameOf& name_of) {
  SharesReply reply;
  reply.half_life = config.priority.half_life;
  for (const ShareRow& row : *standing.rows) {
    reply.rows.push_back({row.account, row.is_user ? name_of(row.uid) : "", row.depth,
                          ppm(row.share), ppm(row.used), row.factor});
  }
  reply.own = OwnWords(standing, config, name_of).of(who);
  return reply;
}

TurnsReply turns_reply(const Standing& standing, const ViewState& state, const JobsBody& which) {
  const PriorityConfig& weights = state.config->priority;
  TurnsReply reply;
  reply.age_weight = weights.age;
  reply.fair_share_weight = weights.fair_share;
  reply.size_weight = weights.size;
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::size_t>;
  std::vector<Key> order;
  std::vector<TurnRow> rows;
  state.jobs.for_each(0, [&](std::uint64_t, const JobView& view) {
    const Job& job = view.job;
    if (job.count(ElementState::kPending) == 0 || !is_meant(which, job.facts())) return true;
    rows.push_back(turn_row(standing, state, job));
    const std::int64_t position =
        job.top() != 0 ? -job.top() : static_cast<std::int64_t>(job.facts().id.value);
    order.emplace_back(-std::int64_t{rows.back().queue_priority}, -rows.back().points_milli,
                       position, rows.size() - 1);
    return true;
  });
  std::sort(order.begin(), order.end());
  for (const auto& [queue, points, position, at] : order) {
    if (reply.rows.size() == kTurnRowsMax) break;
    reply.rows.push_back(std::move(rows[at]));
  }
  reply.rows_left_off = rows.size() - reply.rows.size();
  return reply;
}

}  // namespace muster
