// Counting why.
#include "controller/core/decide/explain.h"
#include "controller/core/decide/attained.h"

#include <algorithm>
#include <array>

#include "base/types/size.h"
#include "controller/core/decide/explain_gate.h"
#include "controller/core/decide/limit_words.h"
#include "controller/core/decide/place.h"
#include "controller/core/decide/preempt.h"
#include "controller/core/decide/quota_words.h"
#include "controller/core/decide/reserved.h"
#include "controller/core/decide/schedule.h"
#include "controller/core/decide/trial.h"

namespace muster {
namespace {

constexpr std::size_t kConstraints = static_cast<std::size_t>(Constraint::kFits) + 1;
constexpr std::size_t kTaken = kConstraints;  // By an earlier group of the same job.

struct Count {
  std::uint32_t total = 0;
  std::array<std::uint32_t, kConstraints + 1> failing{};
  std::uint32_t of(Constraint constraint) const {
    return failing[static_cast<std::size_t>(constraint)];
  }
  std::uint32_t fit() const { return of(Constraint::kFits); }
  std::uint32_t able() const {  // When idle, whatever their state.
    std::uint32_t sum = failing[kTaken];
    for (std::size_t i = static_cast<std::size_t>(Constraint::kUp); i < kConstraints; ++i)
      sum += failing[i];
    return sum;
  }
  std::uint32_t able_and_up() const {
    return able() - of(Constraint::kUp) - of(Constraint::kAvoided);
  }
};

Count count_nodes(const Present& present, const GroupNeed& need, const PlaceRequest& request,
                  const std::set<NodeId>& taken, Gaps* gaps = nullptr) {
  Count count;
  for (const NodeFree& node : present.ledger.nodes()) {
    if (!node.exists) continue;
    const NodeClass& node_class = present.ledger.classes()[node.node_class];
    if (!in_queue(need, node_class)) continue;
    ++count.total;
    Constraint failed = first_failed(need, node, node_class, request.avoided);
    const bool is_taken = failed == Constraint::kFits && taken.count(node.id) != 0;
    if (failed == Constraint::kFits && !is_taken &&
        !present.calendar->allows(node.id, request.terms, present.now)) {
      failed = Constraint::kReserved;
      if (gaps != nullptr) gaps->add(present, node.id, request.terms);
    }
    ++count.failing[is_taken ? kTaken : static_cast<std::size_t>(failed)];
  }
  return count;
}

std::string gpus_text(const Group& group, std::string_view free) {
  std::string text = std::to_string(group.gpus_per_node) + std::string(free) +
                     (group.gpus_per_node == 1 ? " GPU" : " GPUs");
  for (std::size_t i = 0; i < group.gpu_types.size(); ++i) {
    text += (i == 0 ? " of type " : " or ") + group.gpu_types[i];
  }
  if (group.gpu_memory_mib_min != 0)
    text += " with at least " + memory_to_text(group.gpu_memory_mib_min);
  return text;
}

std::string cpus_text(const Group& group, std::string_view free) {
  return std::to_string(group.cpus_per_node) + std::string(free) +
         (group.cpus_per_node == 1 ? " CPU" : " CPUs");
}

std::string memory_text(const Group& group, std::string_view free) {
  if (group.memory_all || group.exclusive) return "all of its" + std::string(free) + " memory";
  if (group.memory_mib_per_node == 0) return "its share of" + std::string(free) + " memory";
  return memory_to_text(group.memory_mib_per_node) + std::string(free) + " memory";
}

std::string together_text(const Group& group) {
  if (group.one_clique) return " of one NVLink clique";
  return ", " + std::to_string(group.gpus_per_socket) + " on each of " +
         std::to_string(group.gpus_per_node / group.gpus_per_socket) +
         (group.gpus_per_node == group.gpus_per_socket ? " socket" : " sockets");
}

std::string constraint_text(const Group& group, std::size_t index) {
  if (index == kTaken) return "not used by another group of this job";
  switch (static_cast<Constraint>(index)) {
    case Constraint::kNamed:
      return group.nodes_only.empty() ? "one of the nodes it may use"
                                      : "one of the nodes asked for";
    case Constraint::kFeatures:
      return group.wish.empty() ? "all features asked for" : "features " + to_text(group.wish);
    case Constraint::kGpusTotal:
      return gpus_text(group, "");
    case Constraint::kTogetherTotal:
      return gpus_text(group, "") + together_text(group);
    case Constraint::kCpusTotal:
      return cpus_text(group, "");
    case Constraint::kMemoryTotal:
      return memory_text(group, "");
    case Constraint::kUp:
      return "node is up";
    case Constraint::kAvoided:
      return "did not just fail this job";
    case Constraint::kAlone:
      return "nobody else on the node";
    case Constraint::kGpusFree:
      return gpus_text(group, " free");
    case Constraint::kTogetherFree:
      return gpus_text(group, " free") + together_text(group);
    case Constraint::kCpusFree:
      return cpus_text(group, " free");
    case Constraint::kMemoryFree:
      return memory_text(group, " free");
    case Constraint::kReserved:
      return "not reserved for others before it would end";
    case Constraint::kFits:
      break;
  }
  return "";
}

WaitReason reason_of(const Count& count, const Group& group) {
  const std::uint32_t needed = group.nodes_min;
  if (count.able() < needed) return WaitReason::kNeverPossible;
  if (count.able_and_up() < needed) return WaitReason::kNodesUnavailable;
  const std::uint32_t reserved = count.of(Constraint::kReserved);
  if (count.fit() < needed && count.fit() + reserved >= needed) return WaitReason::kReserved;
  const bool wants_gpus = group.gpus_per_node != 0;
  const std::uint32_t shared = count.of(Constraint::kAlone);
  const std::uint32_t gpus = count.of(Constraint::kGpusFree) + count.of(Constraint::kTogetherFree) +
                             (wants_gpus ? shared : 0);
  const std::uint32_t cpus = count.of(Constraint::kCpusFree) + (wants_gpus ? 0 : shared);
  const std::uint32_t memory = count.of(Constraint::kMemoryFree);
  if (gpus >= cpus && gpus >= memory && gpus != 0) return WaitReason::kNoFreeGpus;
  if (cpus >= memory && cpus != 0) return WaitReason::kNoFreeCpus;
  return memory != 0 ? WaitReason::kNoFreeMemory : WaitReason::kNodesUnavailable;
}

void fill_blockers(Explanation& why, const Group& group, const Count& count) {
  for (std::size_t i = 0; i < count.failing.size(); ++i) {
    if (i == static_cast<std::size_t>(Constraint::kFits) || count.failing[i] == 0) continue;
    why.blockers.push_back(Blocker{constraint_text(group, i), count.failing[i]});
  }
  std::stable_sort(
      why.blockers.begin(), why.blockers.end(),
      [](const Blocker& a, const Blocker& b) { return a.nodes_failing > b.nodes_failing; });
  why.nodes_total = count.total;
  why.nodes_fit = count.fit();
  why.nodes_needed = group.nodes_min;
}

struct Question {
  const Cluster& cluster;
  Board& board;
  const JobTerms& terms;
  ElementKey element;
  std::set<NodeId> avoided;
  Instant now;

  std::optional<Place> place(PlaceFailure* failure = nullptr) const {
    return find_place(board.present(cluster, now), {terms, avoided}, failure);
  }
  // As far as what is free goes, whatever is reserved.
  bool has_room() const {
    PlaceRequest request{terms, avoided};
    request.keeps_windows = false;
    return find_place(board.present(cluster, now), request).has_value();
  }
  bool place_at(Instant at) const {
    return find_place(board.present(cluster, at), {terms, avoided}).has_value();
  }
  // Beside what is kept for others.
  bool may_start() const {
    const Instant end = now + terms.time_limit;
    return find_place(board.present(cluster, now),
                      {terms, avoided, &board.backfill, end, nullptr, element})
        .has_value();
  }
};

struct RunningEnd {
  Instant at;
  const Attempt* attempt = nullptr;
};

// By time limits; what is over its limit counts as ending now.
std::vector<RunningEnd> ends_in_order(const Cluster& cluster, Instant now) {
  std::vector<RunningEnd> ends;
  for (const auto& [key, attempt] : cluster.attempts())
    ends.push_back({std::max(now, end_known(cluster, attempt)), &attempt});
  std::stable_sort(ends.begin(), ends.end(),
                   [](const RunningEnd& a, const RunningEnd& b) { return a.at < b.at; });
  return ends;
}

// The fewest ends, in order of their time, after which the job fits.
void fill_start(Explanation& why, const Question& asked) {
  const std::vector<RunningEnd> ends = ends_in_order(asked.cluster, asked.now);
  Trial trial(asked.board.ledger);
  const auto fits_after = [&](std::size_t count) {
    trial.undo_to(std::min(trial.steps(), count));
    while (trial.steps() < count) trial.release(ends[trial.steps()].attempt->place);
    return asked.has_room();
  };
  if (ends.empty() || !fits_after(ends.size())) return;
  std::size_t low = 1;
  std::size_t high = ends.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (fits_after(middle))
      high = middle;
    else
      low = middle + 1;
  }
  const RunningEnd& last = ends[low - 1];
  if (!fits_after(low) || !asked.place_at(last.at)) return;
  why.frees_last = last.attempt->key;
  why.start_latest = last.at;
}

std::string nodes_text(std::uint32_t count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

std::string start_text(const Explanation& why, const Question& asked) {
  std::string text;
  if (why.frees_last) {
    text += "; the end of job " + std::to_string(why.frees_last->job.value) +
            " lets it start, in " + to_text(*why.start_latest - asked.now) + " at the latest";
    if (!why.planned_at) text += ", unless jobs that come first take the room";
  }
  if (why.planned_at) {
    text += "; its start is planned in " + to_text(*why.planned_at - asked.now) +
            " at the latest: room is kept for it from then on";
  }
  return text;
}

// "needs 2 nodes; of 3 nodes in queue gpu, 1 fits now; 2 fail: 4 free GPUs; …"
std::string sentence_of(const Explanation& why, const Question& asked) {
  const std::string& queue = asked.terms.queue;
  std::string text = why.reason == WaitReason::kNeverPossible
                         ? "can no longer run: needs " + nodes_text(why.nodes_needed)
                         : "needs " + nodes_text(why.nodes_needed);
  text += "; of " + nodes_text(why.nodes_total) + " in queue " + queue + ", " +
          std::to_string(why.nodes_fit) + (why.nodes_fit == 1 ? " fits now" : " fit now");
  for (const Blocker& blocker : why.blockers) {
    text += "; " + std::to_string(blocker.nodes_failing) +
            (blocker.nodes_failing == 1 ? " fails: " : " fail: ") + blocker.constraint;
  }
  if (!why.reserved.empty()) text += "; " + why.reserved;
  text += start_text(why, asked);
  if (why.reason == WaitReason::kNeverPossible) text += "; cancel it, or ask for less";
  if (why.reason == WaitReason::kNodesUnavailable)
    text += "; see gpuinfo for the nodes that are not up";
  return text;
}

// It fits on nodes that are kept for jobs before it, and would still be there when these start.
void explain_kept(Explanation& why, const Question& asked) {
  why.reason = WaitReason::kKeptForOthers;
  const PlannedStart* first = nullptr;
  for (const auto& [element, planned] : asked.board.backfill.plans()) {
    if (first == nullptr || planned.at < first->at) first = &planned;
  }
  if (first == nullptr) return;
  why.sentence = "fits now, but would still run when job " +
                 std::to_string(first->element.job.value) + " is to start on the same nodes, in " +
                 to_text(first->at - asked.now) +
                 "; with a time limit below that it could start at once";
  if (why.planned_at)
    why.sentence += "; its own start is planned in " + to_text(*why.planned_at - asked.now);
}

// Enough nodes fit, though not near enough to one another.
void explain_scattered(Explanation& why, const Question& asked) {
  const TopologyWish& wish = asked.terms.topology;
  const Present present = asked.board.present(asked.cluster, asked.now);
  const Topology& topology = asked.board.ledger.topology(asked.cluster);
  why.reason = WaitReason::kScattered;
  why.nodes_needed = nodes_wanted(asked.terms.groups);
  why.sentence = "needs " + nodes_text(why.nodes_needed) + " " + to_text(wish) + "; of " +
                 nodes_text(why.nodes_total) + " in queue " + asked.terms.queue + ", " +
                 std::to_string(why.nodes_fit) + (why.nodes_fit == 1 ? " fits now" : " fit now");
  const auto [name, most] =
      fullest_domain(topology, wish, fitting_nodes(present, {asked.terms, asked.avoided}));
  const bool is_domain = wish.kind == TopologyKind::kSwitch || wish.kind == TopologyKind::kBlock;
  if (is_domain)
    why.sentence += ", but no more than " + std::to_string(most) + " of them " +
                    (wish.name.empty() ? to_text(wish) : "there");
  else
    why.sentence += ", but not so near together";
  if (is_domain && most != 0 && wish.name.empty()) why.sentence += " (" + name + ")";
  fill_start(why, asked);
  why.sentence += start_text(why, asked);
}

// Attempts that are being stopped for the job, on the nodes where its start is planned.
std::set<AttemptKey> victims_of(const Question& asked) {
  const PlannedStart* planned = asked.board.backfill.find(asked.element);
  if (planned == nullptr) return {};
  const Job& job = *asked.cluster.find_job(asked.element.job);
  const std::string by = preemptor_text(asked.element, job.is_array());
  std::set<AttemptKey> victims;
  for (const NodeId node : planned->nodes) {
    for (const AttemptKey& key : asked.cluster.attempts_on(node)) {
      const Attempt* attempt = asked.cluster.find_attempt(key);
      if (attempt->stopping() && attempt->stopping()->kind == CauseKind::kPreempted &&
          attempt->stopping()->by == by)
        victims.insert(key);
    }
  }
  return victims;
}

// By which rule the victims are stopped, told by the first of them. Of its own queue are those that
// borrow, where nobody yields to who has had less.
std::string kind_of_victims(const Question& asked, const std::set<AttemptKey>& victims) {
  const JobTerms& first = *asked.cluster.find_job(victims.begin()->job)->facts().terms;
  const QueueConfig* queue = asked.cluster.find_queue(asked.terms.queue);
  const std::vector<std::string>& down = queue->preempts;
  if (std::find(down.begin(), down.end(), first.queue) != down.end()) return " of lower priority";
  if (preempts_by_qos(asked.cluster, asked.terms, first))
    return " with QOS " + first.qos + ", which QOS " + asked.terms.qos + " preempts,";
  if (orders_by_service(*queue)) {
    QuotaBook& quotas = asked.board.limits.quotas;
    const QuotaTally* own = quotas.find(asked.cluster, asked.terms.queue, asked.terms.account);
    const bool is_own = quotas.find(asked.cluster, first.queue, first.account) == own;
    return is_own ? " behind it" : " behind it, or of accounts that borrow,";
  }
  return victims.size() == 1 ? " that borrows" : " that borrow";
}

void explain_victims(Explanation& why, const Question& asked, const std::set<AttemptKey>& victims) {
  why.reason = WaitReason::kMakingRoom;
  const bool is_one = victims.size() == 1;
  why.sentence = std::to_string(victims.size()) + (is_one ? " job" : " jobs") +
                 kind_of_victims(asked, victims) + (is_one ? " is" : " are") +
                 " being stopped for it; it starts when that is done, in " +
                 to_text(*why.planned_at - asked.now) + " at the latest";
}

void explain_room(Explanation& why, const Question& asked) {
  const JobTerms& terms = asked.terms;
  const QueueConfig* queue = asked.cluster.find_queue(terms.queue);
  if (queue == nullptr) {
    why.reason = WaitReason::kQueueClosed;
    why.sentence =
        "queue " + terms.queue + " no longer exists; move the job with gpujob set queue=…";
    return;
  }
  PlaceFailure failure;
  const bool fits = asked.place(&failure).has_value();
  const Group& group = terms.groups[fits ? 0 : failure.group.group];
  const Present present = asked.board.present(asked.cluster, asked.now);
  GroupNeed need = need_of(asked.cluster, *queue, group);
  confine(need, present.calendar->confines(terms));
  Gaps gaps;
  const Count count =
      count_nodes(present, need, {terms, asked.avoided}, failure.group.taken, &gaps);
  fill_blockers(why, group, count);
  if (const PlannedStart* planned = asked.board.backfill.find(asked.element))
    why.planned_at = planned->at;
  if (failure.scattered) return explain_scattered(why, asked);
  if (fits && !asked.may_start()) return explain_kept(why, asked);
  if (fits) {
    why.reason = why.jobs_ahead == 0 ? WaitReason::kNotTried : WaitReason::kBehindOthers;
    why.sentence = why.jobs_ahead == 0 ? "fits now; the next pass starts it"
                                       : "fits now, behind " + std::to_string(why.jobs_ahead) +
                                             " jobs that come first; the next passes look at it";
    return;
  }
  if (const std::set<AttemptKey> victims = victims_of(asked); !victims.empty())
    return explain_victims(why, asked, victims);
  why.reason = reason_of(count, group);
  if (why.reason == WaitReason::kReserved)
    gaps.tell(why, asked.board.calendar, asked.now, group.nodes_min - count.fit());
  else if (why.reason != WaitReason::kNeverPossible)
    fill_start(why, asked);
  why.sentence = sentence_of(why, asked);
  QuotaBook& quotas = asked.board.limits.quotas;
  const QuotaTally* tally = quotas.find(asked.cluster, terms.queue, terms.account);
  const bool is_owed =
      tally != nullptr && tally->used + holding_of(terms).gpus_milli <= tally->guaranteed;
  if (!is_owed || why.reason == WaitReason::kNeverPossible) return;
  const Job& job = *asked.cluster.find_job(asked.element.job);
  why.sentence += reclaim_text(asked.cluster, quotas, *tally, asked.now - job.facts().submitted_at);
}

}  // namespace

std::optional<Explanation> explain_element(const Cluster& cluster, Board& board, ElementKey key,
                                           Instant now) {
  const Job* job = cluster.find_job(key.job);
  if (job == nullptr) return std::nullopt;
  const std::optional<ElementState> state = job->state_of(key.element);
  if (!state || state == ElementState::kActive || state == ElementState::kEnded)
    return std::nullopt;
  const JobTerms& terms = *job->facts().terms;
  const std::string name = to_text(key, job->is_array());
  const ElementRecord* record = job->find_record(key.element);
  Explanation why;
  why.job = key.job;
  if (const Lane* lane = board.line.find_lane(*job))
    why.jobs_ahead = board.line.jobs_ahead(terms.queue, lane->turn_of(entry_of(*job)));
  if (state == ElementState::kHeld) {
    why.reason = WaitReason::kHeld;
    why.sentence = record != nullptr && !record->reason.empty() ? record->reason + "; " : "held; ";
    why.sentence +=
        job->is_held_by_operator()
            ? "an operator holds it; ask one to release it (gpujob release " + name + ")"
            : "start it with gpujob release " + name;
    return why;
  }
  if (state == ElementState::kWaiting) {
    explain_gate(why, {cluster, board.gates, *job, key.element, now});
    return why;
  }
  if (record != nullptr && record->not_before > now) {
    why.reason = WaitReason::kBackoff;
    why.start_latest = record->not_before;
    why.sentence =
        "tried again in " + to_text(record->not_before - now) + " after: " + record->reason;
    return why;
  }
  if (explain_standing(why, cluster, board.calendar, job->facts(), now)) return why;
  const std::uint32_t active = job->count(ElementState::kActive);
  if (terms.array.running_max != 0 && active >= terms.array.running_max) {
    why.reason = WaitReason::kArrayLimit;
    why.sentence =
        std::to_string(active) + " elements of the array run, and it allows no more at once";
    return why;
  }
  const auto breaches =
      board.limits.breaches(cluster, party_of(job->facts()), holding_of(terms), now);
  if (!breaches.empty()) {
    explain_limits(cluster, breaches, now, why);
    return why;
  }
  QuotaBook& quotas = board.limits.quotas;
  const std::uint64_t milli = holding_of(terms).gpus_milli;
  if (const auto breach = quotas.find_breach(cluster, terms.queue, terms.account, milli)) {
    explain_quota(cluster, quotas, *breach, now, why);
    return why;
  }
  if (const LicenceCount* lacking = board.licences.find_lacking(terms.licences)) {
    explain_licence(why, cluster, board.licences, *lacking, now);
    return why;
  }
  if (const auto kept = find_kept(board.licences, board.calendar, terms, now)) {
    explain_kept(why, board.calendar, terms, *kept, now);
    return why;
  }
  const Question asked{
      cluster, board, terms, key, avoided_nodes(cluster, board.ledger, *job, key.element), now};
  explain_room(why, asked);
  return why;
}

Verdict place_new(const Cluster& cluster, Board& board, const NewcomerQuestion& asked,
                  Instant now) {
  if (asked.spec.hold) return Wait{WaitReason::kHeld};
  if (const auto reason = gate_reason(cluster, board.gates, asked.spec, now)) return Wait{*reason};
  const JobTerms terms = terms_of(asked.spec);
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  if (queue == nullptr) return Wait{WaitReason::kQueueClosed};
  const LimitParty party{asked.uid, asked.user, terms.queue, terms.account, terms.qos};
  if (const auto breach = board.limits.find_breach(cluster, party, holding_of(terms), now))
    return Wait{reason_of(breach->scope)};
  if (board.limits.quotas.find_breach(cluster, terms.queue, terms.account,
                                      holding_of(terms).gpus_milli))
    return Wait{WaitReason::kQuota};
  if (board.licences.find_lacking(terms.licences) != nullptr)
    return Wait{WaitReason::kNoFreeLicence};
  if (find_kept(board.licences, board.calendar, terms, now)) return Wait{WaitReason::kReserved};
  PlaceFailure failure;
  const Instant end = now + terms.time_limit;
  std::optional<Place> place =
      find_place(board.present(cluster, now), {terms, {}, &board.backfill, end}, &failure);
  if (place) return *std::move(place);
  if (failure.scattered) return Wait{WaitReason::kScattered};
  const Present present = board.present(cluster, now);
  const OwnState own = board.calendar.standing(cluster, terms, now).state;
  if (own != OwnState::kNone && own != OwnState::kOpen)
    return Wait{WaitReason::kOutsideReservation};
  const Group& group = terms.groups[failure.group.group];
  GroupNeed need = need_of(cluster, *queue, group);
  confine(need, present.calendar->confines(terms));
  const Count count = count_nodes(present, need, {terms, {}}, failure.group.taken);
  const WaitReason reason = reason_of(count, group);
  if (reason == WaitReason::kReserved || !failure.held) return Wait{reason};
  return Wait{WaitReason::kKeptForOthers};
}

std::string sentence_for_new(const Cluster& cluster, Board& board, const NewcomerQuestion& asked,
                             Instant now) {
  const Verdict verdict = place_new(cluster, board, asked, now);
  if (const Wait* wait = std::get_if<Wait>(&verdict)) {
    return "would wait: " + std::string(name_of(wait->reason));
  }
  std::string text = "would start now on ";
  const Place& place = std::get<Place>(verdict);
  constexpr std::size_t kNodesShown = 8;
  for (std::size_t i = 0; i < place.members.size() && i < kNodesShown; ++i) {
    text += (i == 0 ? "" : ",") + cluster.find_node(place.members[i].node)->name;
  }
  if (place.members.size() > kNodesShown) text += ",…";
  return text;
}

}  // namespace muster
