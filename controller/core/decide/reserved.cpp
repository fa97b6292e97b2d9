// Saying what a reservation means for a job.
#include "controller/core/decide/reserved.h"

#include <algorithm>

#include "base/types/text.h"
#include "controller/core/decide/known.h"

namespace muster {
namespace {

std::string shown(const std::string& name) { return "reservation " + escape_for_terminal(name); }

std::string title(const Reservation& reservation) {
  return shown(reservation.name) + " " + owners_text(reservation);
}

std::string move_hint(const JobFacts& job) {
  return "move it with gpujob set " + std::to_string(job.id.value) + " reservation=…";
}

}  // namespace

Result<void> check_reservation(const Cluster& cluster, const std::string& user,
                               const JobTerms& terms) {
  if (terms.reservation.empty()) return {};
  const Reservation* own = cluster.find_reservation(terms.reservation);
  if (own == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& [name, reservation] : cluster.reservations()) {
      if (!reservation.maintenance) names.push_back(name);
    }
    return fail(ErrorCode::kNotFound, "--reservation: there is no " + shown(terms.reservation) +
                                          suggestion_or(terms.reservation, names,
                                                        "gpuadmin reservation list shows them"));
  }
  if (own->maintenance) {
    return fail(ErrorCode::kConflict,
                "--reservation: " + shown(own->name) + " is for maintenance: no jobs run in it");
  }
  if (!admits(*own, user, terms.account)) {
    return fail(ErrorCode::kConflict, "--reservation: " + title(*own) + " does not take user " +
                                          user + " with account " + terms.account);
  }
  if (own->flex || terms.time_limit <= own->duration) return {};
  return fail(ErrorCode::kInvalid, "--time: " + to_text(terms.time_limit) + " is more than the " +
                                       to_text(own->duration) + " that " + shown(own->name) +
                                       " lasts");
}

bool explain_standing(Explanation& why, const Cluster& cluster, const Calendar& calendar,
                      const JobFacts& job, Instant now) {
  const JobTerms& terms = *job.terms;
  const OwnStanding standing = calendar.standing(cluster, terms, now);
  const bool barred = is_barred(cluster, job);
  if (standing.state == OwnState::kNone || (standing.state == OwnState::kOpen && !barred))
    return false;
  why.reason = WaitReason::kOutsideReservation;
  const std::string name = shown(terms.reservation);
  if (standing.state == OwnState::kGone) {
    why.sentence = name + " is over or was removed; " + move_hint(job) + ", or cancel it";
  } else if (barred) {
    why.sentence = name + " does not take user " + job.user() + " with account " + job.account() +
                   " any more; " + move_hint(job) + ", or ask an operator";
  } else if (standing.state == OwnState::kEarly) {
    why.start_latest = standing.window->from;
    why.sentence = name + " begins in " + to_text(standing.window->from - now) + ", at " +
                   to_rfc3339(calendar.wall_of(standing.window->from));
  } else {
    const Duration left = standing.window->until - now;
    why.limit_max = left;
    why.sentence = name + " ends in " + to_text(left) + ", before the job's time limit of " +
                   to_text(terms.time_limit) + "; a time limit of at most " + to_text(left) +
                   " would let it start";
  }
  return true;
}

void Gaps::add(const Present& present, NodeId node, const JobTerms& terms) {
  const std::optional<Conflict> conflict = present.calendar->conflict(node, terms, present.now);
  if (!conflict) return;
  const Window run = present.calendar->run_of(terms, present.now);
  const Duration more = run.until - conflict->window.from;  // Than there is before it.
  gaps_.emplace_back(terms.time_limit - more, *conflict);
}

void Gaps::tell(Explanation& why, const Calendar& calendar, Instant now, std::uint32_t wanted) {
  if (wanted == 0 || wanted > gaps_.size()) return;
  const auto last = gaps_.begin() + static_cast<std::ptrdiff_t>(wanted) - 1;
  std::nth_element(gaps_.begin(), last, gaps_.end(), [](const auto& a, const auto& b) {
    return std::make_pair(b.first, a.second.reservation->name) <
           std::make_pair(a.first, b.second.reservation->name);
  });
  const auto& [limit, conflict] = *last;
  const std::string name = title(*conflict.reservation);
  const std::string from = to_rfc3339(calendar.wall_of(conflict.window.from));
  if (conflict.window.from <= now) {
    why.reserved = name + " has its nodes until " +
                   to_rfc3339(calendar.wall_of(conflict.window.until)) + ", for " +
                   to_text(conflict.window.until - now);
    return;
  }
  why.reserved =
      "would run into " + name + " from " + from + ", in " + to_text(conflict.window.from - now);
  if (limit < minutes(1)) return;
  why.limit_max = limit;
  why.reserved += "; a time limit of at most " + to_text(limit) + " would let it start";
}

}  // namespace muster
