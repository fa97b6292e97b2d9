// What people do to reservations, and what time does.
#include "controller/core/reserve.h"

#include <algorithm>
#include <set>

#include "base/types/hostlist.h"
#include "base/types/text.h"
#include "controller/core/decide/licences.h"
#include "controller/core/gang.h"

namespace muster {
namespace {

Error invalid(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kInvalid, "reservation " + escape_for_terminal(name) + ": " + why);
}

Error conflict(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kConflict, "reservation " + name + ": " + why);
}

Result<void> may_reserve(const Requester& who) {
  if (who.role != Role::kUser) return {};
  return fail(ErrorCode::kConflict,
              "only an operator or administrator may make, change or remove reservations");
}

// ---- when ----

Result<void> take_times(Reservation& made, const SetReservation& command, WallTime now) {
  const ReservationSpec& spec = command.spec;
  const std::string& name = command.name;
  if (command.is_new && !spec.start) return invalid(name, "say when it begins: --start TIME");
  if (command.is_new && !spec.end && !spec.duration)
    return invalid(name, "say how long it lasts: --duration TIME, or --end TIME");
  if (spec.end && spec.duration) return invalid(name, "both --end and --duration: leave one out");
  const bool moves = spec.start.has_value();
  if (moves) made.start = spec.start->us == 0 ? now : *spec.start;
  if (moves && made.start.us < now.us - kStartLateMax.us) {
    return invalid(name, "its start " + to_rfc3339(made.start) + " lies in the past (it is " +
                             to_rfc3339(now) + ")");
  }
  if (spec.duration) made.duration = *spec.duration;
  if (spec.end) {
    if (*spec.end <= made.start) {
      return invalid(name, "it would end at " + to_rfc3339(*spec.end) + ", before it starts at " +
                               to_rfc3339(made.start));
    }
    made.duration = Duration{spec.end->us - made.start.us};
  }
  if (made.duration.us <= 0) return invalid(name, "it would last no time");
  if (made.duration > kReservationMax)
    return invalid(name, "it would last more than " + to_text(kReservationMax));
  if (spec.every) made.every = *spec.every;
  if (made.every.us != 0 && made.every < std::max(made.duration, kEveryMin)) {
    return invalid(name, "it would begin again every " + to_text(made.every) +
                             ", before it is over: it lasts " + to_text(made.duration) +
                             ", and the least is " + to_text(kEveryMin));
  }
  if (made.every > kReservationMax)
    return invalid(name, "it would be repeated more rarely than every " + to_text(kReservationMax));
  if (!occurrence_after(made, now)) return invalid(name, "all of it lies in the past");
  return {};
}

// ---- for whom ----

Result<void> check_list(const std::string& name, const std::vector<std::string>& list,
                        const std::string& what) {
  if (list.size() > kReservationNamesMax) {
    return invalid(name, "more than " + std::to_string(kReservationNamesMax) + " " + what);
  }
  for (const std::string& entry : list) {
    if (const Result<void> checked = check_name(entry); !checked)
      return invalid(name, what + ": " + checked.error().message);
  }
  return {};
}

Result<void> take_owners(Reservation& made, const SetReservation& command, const Cluster& cluster) {
  const ReservationSpec& spec = command.spec;
  const std::string& name = command.name;
  if (spec.users) made.users = *spec.users;
  if (spec.accounts) made.accounts = *spec.accounts;
  made.maintenance = made.maintenance || spec.maintenance;
  made.flex = made.flex || spec.flex;
  made.ignore_running = made.ignore_running || spec.ignore_running;
  made.overlap = made.overlap || spec.overlap;
  made.stop_at_end = made.stop_at_end || spec.stop_at_end;
  if (!spec.reason.empty()) made.reason = spec.reason;
  for (const auto& [list, what] : {std::pair{&made.users, "users"}, {&made.accounts, "accounts"}}) {
    if (const Result<void> checked = check_list(name, *list, what); !checked) return checked;
  }
  for (const std::string& account : made.accounts) {
    if (cluster.find_account(account) == nullptr) {
      return fail(ErrorCode::kNotFound, "reservation " + name + ": there is no account " + account);
    }
  }
  const bool for_somebody = !made.users.empty() || !made.accounts.empty();
  if (made.maintenance && (for_somebody || made.flex || made.stop_at_end)) {
    return invalid(name,
                   "nobody's jobs run in a maintenance: leave --users, --accounts, --flex and "
                   "--stop-at-end out");
  }
  if (!made.maintenance && !for_somebody)
    return invalid(name, "say for whom: --users or --accounts, or --maintenance for nobody");
  if (made.overlap && !made.maintenance)
    return invalid(name, "only a --maintenance may --overlap with others");
  return {};
}

// ---- where ----

struct Meeting {
  const Reservation* other = nullptr;
  std::string node;
};

std::optional<Meeting> meets_another(const Cluster& cluster, const Reservation& made) {
  const std::set<std::string_view> nodes(made.nodes.begin(), made.nodes.end());
  for (const auto& [name, other] : cluster.reservations()) {
    const bool may = made.overlap || other.overlap;
    if (name == made.name || may || !ever_meet(made, other)) continue;
    for (const std::string& node : other.nodes) {
      if (nodes.count(node) != 0) return Meeting{&other, node};
    }
  }
  return std::nullopt;
}

struct Overrun {
  JobId job;
  Instant until;
};

// What may run on the node past the reservation's next start, by its limit. Null: nothing does.
std::optional<Overrun> runs_into(Step& step, const Reservation& made, NodeId node) {
  const auto window = occurrence_after(made, step.now().wall);
  const Instant from = step.brain().board.calendar.instant_of(window->from);
  const Duration start = step.cluster().config().limits.prepare_timeout;
  for (const AttemptKey& key : step.cluster().attempts_on(node)) {
    const JobFacts& facts = step.cluster().find_job(key.job)->facts();
    if (!made.maintenance && facts.terms->reservation == made.name) continue;
    const Attempt& attempt = *step.cluster().find_attempt(key);
    const Instant until = end_by_limit(attempt, facts.time_limit());
    if (until + (attempt.launched ? Duration{} : start) > from) return Overrun{key.job, until};
  }
  return std::nullopt;
}

Result<void> check_running(Step& step, const Reservation& made) {
  if (made.ignore_running) return {};
  for (const std::string& name : made.nodes) {
    const auto overrun = runs_into(step, made, step.cluster().find_node(name)->id);
    if (!overrun) continue;
    return conflict(made.name, "job " + std::to_string(overrun->job.value) + " on node " + name +
                                   " may run until " +
                                   to_rfc3339(step.brain().board.calendar.wall_of(overrun->until)) +
                                   ", past its start; choose another start, or --ignore-running");
  }
  return {};
}

// What reservations keep of a licence at the times of this one. As if all of them met at once:
// too much rather than too little.
Result<void> check_kept(const Cluster& cluster, const Reservation& made, const LicenceCount& wanted,
                        std::uint32_t total) {
  std::uint64_t kept = wanted.count;
  std::string others;
  for (const auto& [name, other] : cluster.reservations()) {
    const std::uint32_t count = name == made.name ? 0 : count_in(other.licences, wanted.name);
    if (count == 0 || !ever_meet(made, other)) continue;
    kept += count;
    others += (others.empty() ? "" : ", ") + std::to_string(count) + " for " + name;
  }
  if (kept <= total) return {};
  return conflict(made.name, "of licence " + wanted.name + " there are " + std::to_string(total) +
                                 (others.empty() ? ", and it would keep " + std::to_string(kept)
                                                 : ", and reservations keep then: " + others));
}

// What jobs that run past the start by their limits leave of a licence.
Result<void> check_held(Step& step, const Reservation& made, const LicenceCount& wanted,
                        std::uint32_t total) {
  const auto window = occurrence_after(made, step.now().wall);
  const Calendar& calendar = step.brain().board.calendar;
  const Instant from = std::max(calendar.instant_of(window->from), step.now().at);
  std::uint64_t held = 0;
  std::optional<Overrun> last;
  for (const auto& [key, hold] : step.brain().board.licences.holds(wanted.name)) {
    const bool is_own = !made.maintenance && hold.reservation == made.name;
    if (is_own || hold.end <= from) continue;
    held += hold.count;
    if (!last || hold.end > last->until) last = Overrun{key.job, hold.end};
  }
  if (!last || held + wanted.count <= total) return {};
  return conflict(made.name, "jobs that may run past its start hold " + std::to_string(held) +
                                 " of " + std::to_string(total) + " of licence " + wanted.name +
                                 ", job " + std::to_string(last->job.value) + " until " +
                                 to_rfc3339(calendar.wall_of(last->until)) +
                                 "; choose another start, or --ignore-running");
}

Result<void> take_licences(Step& step, Reservation& made, const SetReservation& command) {
  if (command.spec.licences) {
    auto checked = check_licences(step.cluster(), *command.spec.licences);
    if (!checked) return checked.error();
    made.licences = *std::move(checked);
  }
  for (const LicenceCount& wanted : made.licences) {
    const std::uint32_t total = step.brain().board.licences.total(wanted.name);
    const Result<void> kept = check_kept(step.cluster(), made, wanted, total);
    if (!kept) return kept;
    if (made.ignore_running) continue;
    const Result<void> held = check_held(step, made, wanted, total);
    if (!held) return held;
  }
  return {};
}

struct Census {
  std::uint32_t down = 0;
  std::uint32_t small = 0;
  std::uint32_t reserved = 0;
  std::uint32_t busy = 0;
};

// The smallest nodes that do, in the order of their names.
std::vector<std::string> choose_nodes(Step& step, const Reservation& made,
                                      const ReservationSpec& spec, Census& census) {
  std::vector<std::pair<std::size_t, std::string>> fit;
  for (const auto& [id, node] : step.cluster().nodes()) {
    Reservation alone = made;
    alone.nodes = {node.name};
    if (!node.takes_work())
      ++census.down;
    else if (node.inventory.gpus.size() < spec.gpus_per_node)
      ++census.small;
    else if (meets_another(step.cluster(), alone))
      ++census.reserved;
    else if (!made.ignore_running && runs_into(step, made, id))
      ++census.busy;
    else
      fit.emplace_back(node.inventory.gpus.size(), node.name);
  }
  std::sort(fit.begin(), fit.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : host_before(a.second, b.second);
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fit.size() && i < spec.count; ++i) names.push_back(fit[i].second);
  return names;
}

Result<void> take_count(Step& step, Reservation& made, const ReservationSpec& spec) {
  Census census;
  made.nodes = choose_nodes(step, made, spec, census);
  if (made.nodes.size() == spec.count) return {};
  return conflict(made.name, "wants " + std::to_string(spec.count) + " nodes, but only " +
                                 std::to_string(made.nodes.size()) + " of " +
                                 std::to_string(step.cluster().nodes().size()) +
                                 " do: " + std::to_string(census.down) + " are not up, " +
                                 std::to_string(census.small) + " have fewer GPUs, " +
                                 std::to_string(census.reserved) + " are reserved then, " +
                                 std::to_string(census.busy) + " may be busy past its start");
}

Result<void> take_nodes(Step& step, Reservation& made, const SetReservation& command) {
  const ReservationSpec& spec = command.spec;
  if (!spec.nodes.empty() && spec.count != 0)
    return invalid(command.name, "both --nodes and --count: leave one out");
  if (spec.gpus_per_node != 0 && spec.count == 0)
    return invalid(command.name, "--gpus-per-node is for nodes to be chosen: give --count too");
  if (spec.count != 0) return take_count(step, made, spec);
  if (!spec.nodes.empty()) made.nodes = spec.nodes;
  if (made.nodes.empty() && made.licences.empty()) {
    return invalid(command.name, "what does it keep? --nodes LIST, --count N or --licences NAME:N");
  }
  std::set<std::string> seen;
  for (const std::string& name : made.nodes) {
    if (step.cluster().find_node(name) == nullptr) {
      return fail(ErrorCode::kNotFound, "reservation " + command.name + ": there is no node " +
                                            escape_for_terminal(name));
    }
    if (!seen.insert(name).second) return invalid(command.name, "node " + name + " twice");
  }
  if (const auto meeting = meets_another(step.cluster(), made)) {
    return conflict(command.name,
                    "on node " + meeting->node + " it would overlap with reservation " +
                        meeting->other->name + " " + owners_text(*meeting->other) +
                        (made.maintenance ? "; --overlap allows that for a maintenance" : ""));
  }
  return check_running(step, made);
}

Result<Reservation> reservation_for(Step& step, const SetReservation& command) {
  if (const Result<void> may = may_reserve(command.who); !may) return may.error();
  if (const Result<void> named = check_name(command.name); !named)
    return invalid(command.name, named.error().message);
  const Reservation* known = step.cluster().find_reservation(command.name);
  if (command.is_new && known != nullptr)
    return conflict(command.name, "exists already; change it with gpuadmin reservation set");
  if (!command.is_new && known == nullptr) {
    return fail(ErrorCode::kNotFound, "there is no reservation " + command.name +
                                          "; gpuadmin reservation list shows them");
  }
  if (command.is_new && step.cluster().reservations().size() >= kReservationsMax) {
    return fail(ErrorCode::kLimit, "there are " + std::to_string(kReservationsMax) +
                                       " reservations already, which is the most; remove some");
  }
  Reservation made = known == nullptr ? Reservation{} : *known;
  made.name = command.name;
  made.by = name_of_requester(command.who);
  if (const Result<void> taken = take_times(made, command, step.now().wall); !taken)
    return taken.error();
  if (const Result<void> taken = take_owners(made, command, step.cluster()); !taken)
    return taken.error();
  if (const Result<void> taken = take_licences(step, made, command); !taken) return taken.error();
  if (const Result<void> taken = take_nodes(step, made, command); !taken) return taken.error();
  return made;
}

// ---- what time does ----

// What of it should have stopped at its last end.
void stop_late(Step& step, const Reservation& reservation, WallTime ended) {
  const Calendar& calendar = step.brain().board.calendar;
  const Instant end = calendar.instant_of(ended);
  std::vector<AttemptKey> late;
  for (const auto& [key, attempt] : step.cluster().attempts()) {
    const JobTerms& terms = *step.cluster().find_job(key.job)->facts().terms;
    if (terms.reservation != reservation.name || attempt.stopping()) continue;
    if (attempt.started_at < end) late.push_back(key);
  }
  for (const AttemptKey& key : late) {
    if (step.is_full()) return;
    Cause cause;
    cause.kind = CauseKind::kTimedOut;
    cause.by = "reservation " + reservation.name;
    cause.evidence = "reservation " + reservation.name + " ended at " + to_rfc3339(ended);
    stop_attempt(step, key, std::move(cause), false);
  }
}

}  // namespace

void set_reservation(Step& step, const SetReservation& command) {
  Result<Reservation> made = reservation_for(step, command);
  if (!made) return step.refuse(made.error());
  std::string kept = made->nodes.empty() ? "" : "nodes " + compress_hostlist(made->nodes);
  for (const LicenceCount& licence : made->licences)
    kept += (kept.empty() ? "" : ", ") + std::to_string(licence.count) + " of " + licence.name;
  step.note(kept + " from " + to_rfc3339(made->start) + " for " + to_text(made->duration) +
            (made->every.us == 0 ? "" : ", every " + to_text(made->every)));
  step.emit(ReservationSet{*std::move(made)});
  step.want_pass();
}

void remove_reservation(Step& step, const RemoveReservation& command) {
  if (const Result<void> may = may_reserve(command.who); !may) return step.refuse(may.error());
  if (step.cluster().find_reservation(command.name) == nullptr) {
    return step.refuse(fail(ErrorCode::kNotFound, "there is no reservation " +
                                                      escape_for_terminal(command.name) +
                                                      "; gpuadmin reservation list shows them"));
  }
  std::uint64_t waiting = 0;
  for (const auto& [id, job] : step.cluster().jobs()) {
    const bool asks = job.facts().terms->reservation == command.name;
    waiting += asks && !job.is_ended() ? 1U : 0U;
  }
  step.emit(ReservationRemoved{command.name, name_of_requester(command.who)});
  step.want_pass();
  if (waiting == 0) return;
  step.note("jobs that ask for it: " + std::to_string(waiting) +
            "; what runs goes on, what waits does not start until it is moved with gpujob set JOB "
            "reservation=…");
}

void follow_clock(Step& step) {
  Board& board = step.brain().board;
  const bool is_new = board.calendar.refresh(step.cluster(), step.now().at, step.now().wall);
  if (!is_new) return;
  board.ledger.wake();
  step.want_pass();
  step.brain().windows_moved = true;
}

void end_reservations(Step& step) {
  if (step.cluster().reservations().empty()) return;
  if (std::exchange(step.brain().windows_moved, false)) {
    step.want_pass();
    for (const auto& [name, reservation] : step.cluster().reservations()) {
      const auto ended = end_before(reservation, step.now().wall);
      if (ended && reservation.stop_at_end) stop_late(step, reservation, *ended);
    }
  }
  if (step.now().at - step.liveness().began_at < kOverKept) return;
  std::vector<std::string> over;
  const WallTime before{step.now().wall.us - kOverKept.us};
  for (const auto& [name, reservation] : step.cluster().reservations()) {
    if (!occurrence_after(reservation, before)) over.push_back(name);
  }
  for (const std::string& name : over) step.emit(ReservationRemoved{name, "controller"});
}

}  // namespace muster
