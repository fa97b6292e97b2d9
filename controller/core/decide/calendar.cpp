// Looking windows up.
#include "controller/core/decide/calendar.h"

#include <algorithm>

namespace muster {
namespace {

bool is_own(const Reservation& reservation, const JobTerms& terms) {
  return !reservation.maintenance && reservation.name == terms.reservation;
}

}  // namespace

void Calendar::rebuild(const Cluster& cluster) {
  rules_.clear();
  by_node_.clear();
  is_new_ = true;
  keeps_licences_ = false;
  start_time_max_ = cluster.config().limits.prepare_timeout;
  for (const auto& [name, reservation] : cluster.reservations()) {
    const auto index = static_cast<std::uint32_t>(rules_.size());
    Rule rule{&reservation, {}};
    for (const std::string& node_name : reservation.nodes) {
      const Node* node = cluster.find_node(node_name);
      if (node == nullptr) continue;
      rule.nodes.push_back(node->id);
      if (node->id.value >= by_node_.size()) by_node_.resize(node->id.value + 1);
      by_node_[node->id.value].push_back(index);
    }
    std::sort(rule.nodes.begin(), rule.nodes.end());
    keeps_licences_ = keeps_licences_ || !reservation.licences.empty();
    rules_.push_back(std::move(rule));
  }
}

bool Calendar::refresh(const Cluster& cluster, Instant now, WallTime wall) {
  if (rules_.empty() && !is_new_) return false;
  const std::int64_t offset = wall.us - now.us;
  const std::int64_t moved = offset > offset_us_ ? offset - offset_us_ : offset_us_ - offset;
  const bool stepped = moved > kClockStepMin.us;
  if (stepped || is_new_) offset_us_ = offset;
  const bool changed =
      !rules_.empty() && (is_new_ || stepped || (next_change_ && *next_change_ <= now));
  is_new_ = false;
  start_time_max_ = cluster.config().limits.prepare_timeout;
  if (changed) find_next_change(now);
  return changed;
}

void Calendar::find_next_change(Instant now) {
  next_change_.reset();
  for (const Rule& rule : rules_) {
    const std::optional<Window> window = window_after(*rule.reservation, now);
    if (!window) continue;
    const Instant change = window->from > now ? window->from : window->until;
    if (!next_change_ || change < *next_change_) next_change_ = change;
  }
}

std::optional<Window> Calendar::window_after(const Reservation& reservation, Instant at) const {
  const std::optional<WallWindow> found = occurrence_after(reservation, wall_of(at));
  if (!found) return std::nullopt;
  return Window{instant_of(found->from), instant_of(found->until)};
}

const Calendar::Rule* Calendar::find(const std::string& name) const {
  const auto found = std::lower_bound(
      rules_.begin(), rules_.end(), name,
      [](const Rule& rule, const auto& wanted) { return rule.reservation->name < wanted; });
  return found == rules_.end() || found->reservation->name != name ? nullptr : &*found;
}

bool Calendar::is_listed(NodeId node) const {
  return node.value < by_node_.size() && !by_node_[node.value].empty();
}

Window Calendar::run_of(const JobTerms& terms, Instant at) const {
  return {at, at + start_time_max_ + terms.time_limit};
}

std::optional<Conflict> Calendar::conflict(NodeId node, const JobTerms& terms, Instant at) const {
  if (!is_listed(node)) return std::nullopt;
  const Window run = run_of(terms, at);
  std::optional<Conflict> first;
  for (const std::uint32_t index : by_node_[node.value]) {
    const Reservation& reservation = *rules_[index].reservation;
    if (is_own(reservation, terms)) continue;
    const std::optional<Window> window = window_after(reservation, run.from);
    if (!window || window->from >= run.until) continue;
    if (!first || window->from < first->window.from) first = Conflict{&reservation, *window};
  }
  return first;
}

std::vector<Conflict> Calendar::licence_windows(const JobTerms& terms, Instant at) const {
  const Window run = run_of(terms, at);
  std::vector<Conflict> windows;
  for (const Rule& rule : rules_) {
    const Reservation& reservation = *rule.reservation;
    if (reservation.licences.empty() || is_own(reservation, terms)) continue;
    const std::optional<Window> window = window_after(reservation, run.from);
    if (window && window->from < run.until) windows.push_back({&reservation, *window});
  }
  std::stable_sort(windows.begin(), windows.end(), [](const Conflict& a, const Conflict& b) {
    return a.window.from < b.window.from;
  });
  return windows;
}

bool Calendar::allows(NodeId node, const JobTerms& terms, Instant at) const {
  if (!terms.reservation.empty()) {
    const Rule* own = find(terms.reservation);
    if (own == nullptr || own->reservation->maintenance) return false;
    if (!own->reservation->flex) {
      if (!own->reservation->nodes.empty() &&
          !std::binary_search(own->nodes.begin(), own->nodes.end(), node))
        return false;
      const std::optional<Window> window = window_after(*own->reservation, at);
      if (!window || window->from > at || window->until + kOwnEndSlack < at + terms.time_limit)
        return false;
    }
  }
  return !conflict(node, terms, at);
}

std::vector<Instant> Calendar::openings(NodeId node, const JobTerms& terms, Instant at) const {
  std::vector<Instant> times;
  if (!is_listed(node)) return times;
  for (const std::uint32_t index : by_node_[node.value]) {
    const Reservation& reservation = *rules_[index].reservation;
    const bool own = is_own(reservation, terms);
    Instant from = at;
    for (int i = 0; i < kOccurrencesAhead; ++i) {
      const std::optional<Window> window = window_after(reservation, from);
      if (!window) break;
      const Instant opening = own ? window->from : window->until;
      if (opening > at) times.push_back(opening);
      from = window->until;
    }
  }
  return times;
}

OwnStanding Calendar::standing(const Cluster& cluster, const JobTerms& terms, Instant now) const {
  if (terms.reservation.empty()) return {};
  const Reservation* own = cluster.find_reservation(terms.reservation);
  if (own == nullptr || own->maintenance) return {OwnState::kGone, {}};
  const std::optional<Window> window = window_after(*own, now);
  if (own->flex) return {OwnState::kOpen, window};
  if (!window) return {OwnState::kGone, {}};
  if (window->from > now) return {OwnState::kEarly, window};
  if (window->until + kOwnEndSlack < now + terms.time_limit) return {OwnState::kTooLong, window};
  return {OwnState::kOpen, window};
}

const std::vector<NodeId>* Calendar::confines(const JobTerms& terms) const {
  static const std::vector<NodeId> kNowhere;
  if (terms.reservation.empty()) return nullptr;
  const Rule* own = find(terms.reservation);
  if (own == nullptr) return &kNowhere;
  return own->reservation->flex || own->reservation->nodes.empty() ? nullptr : &own->nodes;
}

bool is_barred(const Cluster& cluster, const JobFacts& job) {
  const Reservation* own = cluster.find_reservation(job.terms->reservation);
  return own != nullptr && !own->maintenance && !admits(*own, job.user(), job.account());
}

std::optional<std::vector<NodeId>> confined_nodes(const Cluster& cluster,
                                                  const std::string& reservation) {
  if (reservation.empty()) return std::nullopt;
  std::vector<NodeId> nodes;
  const Reservation* own = cluster.find_reservation(reservation);
  if (own == nullptr) return nodes;
  if (own->flex || own->nodes.empty()) return std::nullopt;
  for (const std::string& name : own->nodes) {
    if (const Node* node = cluster.find_node(name)) nodes.push_back(node->id);
  }
  return nodes;
}

}  // namespace muster
