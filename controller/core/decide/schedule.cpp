// Going through the line.
#include "controller/core/decide/schedule.h"

#include <algorithm>

#include "controller/core/decide/attained.h"
#include "controller/core/decide/preempt.h"
#include "controller/core/decide/shortest.h"

namespace muster {
namespace {

constexpr int kBackingOffMax =
    64;  // Elements of one array looked at before the job is passed over.

using Candidate = PassCursor::Candidate;

bool comes_later(const Candidate& a, const Candidate& b) { return b < a; }

class Pass {
 public:
  Pass(PassDesk& desk, const PassBudget& budget, PassCursor& cursor)
      : desk_(desk),
        budget_(budget),
        cursor_(cursor),
        line_(desk.board.line),
        quotas_(desk.board.limits.quotas) {
    const std::vector<QosConfig>& all = desk.cluster.config().qos;
    is_qos_preempting_ =
        std::any_of(all.begin(), all.end(), [](const auto& qos) { return !qos.preempts.empty(); });
  }

  bool run() {
    foresee();
    rescore();
    begin();
    quotas_.measure(desk_.cluster, desk_.board.ledger);
    if (cursor_.squeezing) make_room(*std::exchange(cursor_.squeezing, std::nullopt));
    while (!cursor_.heap.empty()) {
      if (is_spent()) return true;
      look_at(pop());
    }
    cursor_.open = false;
    return cursor_.squeezing || generation() != cursor_.round_generation;
  }

 private:
  std::uint64_t generation() const { return desk_.board.ledger.generation(); }

  bool is_spent() const {
    return refused_ >= budget_.shapes_max || placed_ >= budget_.placements_max ||
           looks_ >= kLooksPerPassMax || nodes_ >= kNodesPerPassMax ||
           members_ >= kMembersPerPassMax || has_planned_;
  }

  void rescore() {
    if (cursor_.score_next == 0) {
      if (desk_.now - cursor_.scored_at < kScoreEvery && cursor_.round != 0) return;
      cursor_.scored_at = desk_.now;
      desk_.board.order.count_gpus(desk_.cluster);
      desk_.board.order.shares.refresh(desk_.cluster, desk_.now);
    }
    cursor_.score_next = line_.rescore(desk_.cluster, desk_.board.order, cursor_.scored_at,
                                       cursor_.score_next, kLanesPerPassMax);
  }

  void begin() {
    const std::set<LaneId> fresh = line_.take_fresh();
    if (!cursor_.open && (generation() != cursor_.round_generation || cursor_.is_due(desk_.now) ||
                          overtakes_a_plan(fresh)))
      return begin_whole();
    cursor_.open = true;
    for (const LaneId id : fresh) {
      if (const Lane* lane = line_.find_lane(id)) push({lane->turn_of(*lane->jobs.begin()), id});
    }
  }

  // What is new in line comes before a job that nodes are kept free for.
  bool overtakes_a_plan(const std::set<LaneId>& fresh) const {
    if (!cursor_.planned_last) return false;
    return std::any_of(fresh.begin(), fresh.end(), [&](LaneId id) {
      const Lane* lane = line_.find_lane(id);
      if (lane == nullptr || !(lane->turn_of(*lane->jobs.begin()) < *cursor_.planned_last))
        return false;
      const Job& job = *desk_.cluster.find_job(lane->jobs.begin()->second);
      return !is_limited(job, *job.facts().terms);
    });
  }

  void begin_whole() {
    cursor_.open = true;
    ++cursor_.round;
    cursor_.round_at = desk_.now;
    cursor_.round_generation = generation();
    cursor_.heap.clear();
    cursor_.planned_last.reset();
    cursor_.unplannable.clear();
    cursor_.roomless.clear();
    cursor_.squeezing.reset();
    desk_.board.backfill.clear(desk_.now);
    for (const auto& [id, shape] : line_.shapes()) cursor_.heap.push_back(*shape.heads.begin());
    std::make_heap(cursor_.heap.begin(), cursor_.heap.end(), comes_later);
  }

  // Ends that follow from learned run times, some nodes in each pass.
  void foresee() {
    Order& order = desk_.board.order;
    if (order.forecast.refresh(desk_.now)) cursor_.foreseen = NodeId{0};
    if (!cursor_.foreseen) return;
    const std::vector<QueueConfig>& queues = desk_.cluster.config().queues;
    if (std::any_of(queues.begin(), queues.end(), [](const auto& queue) { return queue.predict; }))
      cursor_.foreseen = desk_.board.horizon.foresee({desk_.cluster, order.forecast, desk_.now},
                                                     *cursor_.foreseen, kForeseenPerPassMax);
    else
      cursor_.foreseen.reset();
  }

  Duration waited(const Job& job) const { return desk_.now - job.facts().submitted_at; }

  // How long the job holds what it gets, as far as others count on it.
  Duration likely_time(const Job& job) const {
    const JobFacts& facts = job.facts();
    if (!is_predicted(desk_.cluster, *facts.terms)) return facts.time_limit();
    return std::min(facts.time_limit(),
                    desk_.board.order.forecast.likely_end(desk_.cluster, facts));
  }

  void push(const Candidate& candidate) {
    cursor_.heap.push_back(candidate);
    std::push_heap(cursor_.heap.begin(), cursor_.heap.end(), comes_later);
  }

  Candidate pop() {
    std::pop_heap(cursor_.heap.begin(), cursor_.heap.end(), comes_later);
    const Candidate candidate = cursor_.heap.back();
    cursor_.heap.pop_back();
    return candidate;
  }

  // The candidate has had its turn: what comes after it in its lane, and, when it was the lane's
  // head, after it among the heads of its shape.
  void push_next(const Candidate& candidate) {
    const Lane* lane = line_.find_lane(candidate.second);
    if (lane == nullptr) return;
    const LaneEntry entry = entry_of_turn(candidate.first);
    const auto next = lane->jobs.upper_bound(entry);
    const bool is_head = !(*lane->jobs.begin() < entry);
    const bool refused = lane->refused_in == cursor_.round;
    if (!refused && next != lane->jobs.end() && next != lane->jobs.begin())
      push({lane->turn_of(*next), lane->id});
    if (is_head) push_next_head(lane->shape, candidate);
  }

  void push_next_head(ShapeId id, const Candidate& candidate) {
    const auto shape = line_.shapes().find(id);
    if (shape == line_.shapes().end()) return;
    const auto head = shape->second.heads.upper_bound(candidate);
    if (head != shape->second.heads.end()) push(*head);
  }

  // As of this moment: what this pass has started counts.
  // `what` is the terms, or a place and a time: counted only where something is limited.
  template <class... What>
  bool is_limited(const Job& job, const What&... what) const {
    LimitBook& limits = desk_.board.limits;
    if (limits.is_empty()) return false;
    const JobFacts& facts = job.facts();
    const Holding holding = holding_of(what...);
    return limits.find_breach(desk_.cluster, party_of(facts), holding, desk_.now) ||
           quotas_.find_breach(desk_.cluster, facts.queue(), facts.account(), holding.gpus_milli);
  }

  // Whether jobs with its QOS may stop others.
  bool stops_by_qos(const JobTerms& terms) const {
    if (terms.qos.empty()) return false;
    const QosConfig* qos = desk_.cluster.find_qos(terms.qos);
    return qos != nullptr && !qos->preempts.empty();
  }

  // Whether the account, with what is being freed for it, is within its quota beside this.
  bool is_owed(const JobTerms& terms) const {
    if (!quotas_.has(terms.queue)) return false;
    const QuotaTally* tally = quotas_.find(desk_.cluster, terms.queue, terms.account);
    const std::uint64_t asked = holding_of(terms).gpus_milli;
    if (asked == 0 || tally->used + asked > tally->guaranteed) return false;
    std::uint64_t promised = 0;
    for (const auto& [element, plan] : desk_.board.backfill.plans()) {
      const Job* job = desk_.cluster.find_job(element.job);
      if (!plan.freed || plan.queue != terms.queue || job == nullptr) continue;
      const JobTerms& other = *job->facts().terms;
      if (quotas_.find(desk_.cluster, other.queue, other.account) == tally)
        promised += holding_of(other).gpus_milli;
    }
    return tally->used + promised + asked <= tally->guaranteed;
  }

  // Starts planned for those that borrow give way to one that is within its quota. True when one
  // did.
  bool yield_plans(const JobTerms& terms) const {
    if (!is_owed(terms)) return false;
    std::vector<ElementKey> yielding;
    for (const auto& [element, plan] : desk_.board.backfill.plans()) {
      const Job* job = desk_.cluster.find_job(element.job);
      if (plan.freed || plan.queue != terms.queue || job == nullptr) continue;
      if (!is_owed(*job->facts().terms)) yielding.push_back(element);
    }
    for (const ElementKey& element : yielding) desk_.board.backfill.remove(element);
    return !yielding.empty();
  }

  // All jobs of a lane count against the same limits; the shape's other lanes go on.
  void skip_lane(const Candidate& candidate) {
    const Lane* lane = line_.find_lane(candidate.second);
    if (!(*lane->jobs.begin() < entry_of_turn(candidate.first)))
      push_next_head(lane->shape, candidate);
  }

  static LaneEntry entry_of_turn(const Turn& turn) { return {turn.position, turn.job}; }

  void look_at(const Candidate& candidate) {
    ++looks_;
    const Lane* lane = line_.find_lane(candidate.second);
    if (lane == nullptr) return;
    const bool refused = line_.is_refused(lane->shape, cursor_.round);
    // Who asks for the same from within a quota, or with a QOS, may still have others stopped.
    if (refused && !may_plan(*lane))
      return quotas_.has(lane->terms->queue) || is_qos_preempting_ ? skip_lane(candidate) : void();
    if (lane->jobs.count(entry_of_turn(candidate.first)) == 0) return push_next(candidate);
    const Job& job = *desk_.cluster.find_job(candidate.first.job);
    const std::optional<Element> element = next_startable(job, desk_.now);
    if (!element) return push_next(candidate);
    if (is_limited(job, *job.facts().terms)) return skip_lane(candidate);
    if (desk_.board.licences.find_lacking(job.facts().terms->licences) != nullptr)
      return refuse_unlicensed(candidate);
    if (find_kept(desk_.board.licences, desk_.board.calendar, *job.facts().terms, desk_.now))
      return push_next(candidate);  // One with a lower time limit may end before.
    if (!is_welcome(*lane, job)) return push_next(candidate);
    if (refused && !yield_plans(*job.facts().terms) && !is_ready_after_all(*lane, job, *element))
      return push_next(candidate);
    PlaceFailure failure;
    std::optional<Place> place = place_for(job, *job.facts().terms, *element, failure);
    if (!place && failure.held && yield_plans(*job.facts().terms))
      place = place_for(job, *job.facts().terms, *element, failure);
    nodes_ += failure.nodes_looked_at;
    // It may hold more than was asked for.
    if (place && is_limited(job, *place, job.facts().time_limit())) {
      place = place_least(job, *element);
      if (!place) return skip_lane(candidate);
    }
    if (place)
      start(candidate, job, *element, *std::move(place));
    else
      refuse(candidate, job, *element, failure.held);
  }

  // Whether its reservation, if it asks for one, would take it now. No start is planned for what
  // waits for its own: its nodes are kept free as it is.
  bool is_welcome(const Lane& lane, const Job& job) {
    const JobTerms& terms = *lane.terms;
    if (terms.reservation.empty()) return true;
    if (is_barred(desk_.cluster, job.facts())) return false;
    const OwnState state =
        desk_.board.calendar.standing(desk_.cluster, *job.facts().terms, desk_.now).state;
    if (state == OwnState::kOpen) return true;
    if (state == OwnState::kTooLong) return false;  // Others of the shape may be a little shorter.
    line_.set_refused(lane.shape, cursor_.round, false);
    cursor_.unplannable.insert(lane.shape);
    return false;
  }

  // Of a range of nodes the least may be within the limits when more are not.
  std::optional<Place> place_least(const Job& job, Element element) const {
    JobTerms least = *job.facts().terms;
    for (Group& group : least.groups) group.nodes_max = group.nodes_min;
    if (least == *job.facts().terms) return std::nullopt;
    PlaceFailure failure;
    std::optional<Place> place = place_for(job, least, element, failure);
    if (place && is_limited(job, *place, least.time_limit)) place.reset();
    return place;
  }

  std::optional<Place> place_for(const Job& job, const JobTerms& terms, Element element,
                                 PlaceFailure& failure) const {
    const JobFacts& facts = job.facts();
    const Backfill& backfill = desk_.board.backfill;
    const std::set<NodeId> avoided = avoided_nodes(desk_.cluster, desk_.board.ledger, job, element);
    return find_place(desk_.board.present(desk_.cluster, desk_.now),
                      {terms,
                       avoided,
                       &backfill,
                       desk_.now + likely_time(job),
                       backfill.nodes_before({facts.id, element}),
                       {facts.id, element}},
                      &failure);
  }

  void start(const Candidate& candidate, const Job& job, Element element, Place place) {
    ++placed_;
    members_ += static_cast<std::uint32_t>(place.members.size());
    const JobId id = job.facts().id;
    const ShapeId shape = line_.find_lane(candidate.second)->shape;
    const ElementRecord* record = job.find_record(element);
    const AttemptNo attempt{record == nullptr ? 1 : record->attempts + 1};
    desk_.start(AttemptStarted{{id, element, attempt}, std::move(place)});
    const Lane* lane = line_.find_lane(candidate.second);
    if (lane != nullptr && lane->jobs.count(entry_of_turn(candidate.first)) != 0)
      push(candidate);  // An array with more elements.
    else if (lane != nullptr && *lane->jobs.begin() < entry_of_turn(candidate.first))
      push_next(candidate);
    else
      push_next_head(shape, candidate);
  }

  void refuse(const Candidate& candidate, const Job& job, Element element, bool held) {
    ++refused_;
    const Lane& lane = *line_.find_lane(candidate.second);
    const ElementRecord* record = job.find_record(element);
    plan(lane, job, element);
    if (held && is_predicted(desk_.cluster, *lane.terms))
      line_.set_refused(lane.id, cursor_.round);  // Another's may be expected to end sooner.
    else if (record == nullptr || record->nodes_avoided.empty())
      line_.set_refused(lane.shape, cursor_.round, !held);
    push_next(candidate);
  }

  // No node is kept for it: nobody knows when the licences come back, and others need none.
  void refuse_unlicensed(const Candidate& candidate) {
    ++refused_;
    const Lane& lane = *line_.find_lane(candidate.second);
    cursor_.unplannable.insert(lane.shape);
    line_.set_refused(lane.shape, cursor_.round, true);
    push_next(candidate);
  }

  // What the chance that somebody can be stopped depends on, beside the level.
  std::tuple<ShapeId, std::string, std::string> chance_of(const Lane& lane) const {
    const JobTerms& terms = *lane.terms;
    const QuotaTally* owner = quotas_.find(desk_.cluster, terms.queue, terms.account);
    return {lane.shape, owner == nullptr ? "" : owner->account,
            is_qos_preempting_ ? terms.qos : ""};
  }

  bool may_plan(const Lane& lane) const {
    if (cursor_.unplannable.count(lane.shape) != 0) return false;
    if (!cursor_.roomless.empty() && cursor_.roomless.count(chance_of(lane)) != 0) return false;
    const QueueConfig* queue = desk_.cluster.find_queue(lane.terms->queue);
    if (queue == nullptr) return false;
    const std::uint32_t planned = desk_.board.backfill.planned_in(queue->name);
    if (planned < queue->planned_starts) return true;
    // Those that can only wait do not keep one from having room made, and nobody those that borrow
    // from what is theirs.
    if (stops_by_qos(*lane.terms) && planned < 2 * queue->planned_starts) return true;
    return planned < 3 * std::max(queue->planned_starts, 1U) && is_owed(*lane.terms);
  }

  // Where the shortest come first, only those that have waited long have nodes kept free.
  bool deserves_plan(const Job& job) const {
    const JobTerms& terms = *job.facts().terms;
    return !orders_by_length(desk_.cluster, terms) ||
           has_waited_long(terms, desk_.board.order.node_gpus, waited(job));
  }

  // A job may be a little shorter than the one that its shape was refused for, and fit before what
  // that one runs into; or others are stopped for it alone, and may be gone before their grace
  // ends.
  bool is_ready_after_all(const Lane& lane, const Job& job, Element element) {
    plan(lane, job, element);
    const PlannedStart* start = desk_.board.backfill.find({job.facts().id, element});
    if (start == nullptr || (start->at > desk_.now && !start->freed)) return false;
    if (!start->freed) desk_.board.backfill.remove(ElementKey{job.facts().id, element});
    return true;
  }

  void plan(const Lane& lane, const Job& job, Element element) {
    if (!may_plan(lane) || !deserves_plan(job) ||
        desk_.board.backfill.find({job.facts().id, element}) != nullptr)
      return;
    has_planned_ = true;  // It looks at every node.
    if (orders_by_service(desk_.cluster, *lane.terms)) {
      cursor_.squeezing = ElementKey{job.facts().id, element};
      return;
    }
    const PlanRequest request{{job.facts().id, element},
                              job.facts().terms,
                              likely_time(job),
                              nullptr,
                              is_predicted(desk_.cluster, *lane.terms)};
    const PlannedStart* start =
        desk_.board.backfill.plan(desk_.board.present(desk_.cluster, desk_.now), request);
    const QueueConfig& queue = *desk_.cluster.find_queue(lane.terms->queue);
    if (gains_by_stopping(queue, start) || gains_by_qos(queue, job, start) ||
        gains_by_reclaim(queue, job, start))
      cursor_.squeezing = request.element;
    if (start == nullptr)
      cursor_.unplannable.insert(lane.shape);
    else
      cursor_.planned_last = lane.turn_of(entry_of(job));
  }

  // Nobody who is stopped ends sooner than the grace of his queue.
  bool gains_by_stopping(const QueueConfig& queue, const PlannedStart* start) const {
    return std::any_of(queue.preempts.begin(), queue.preempts.end(), [&](const std::string& name) {
      const QueueConfig* victims = desk_.cluster.find_queue(name);
      return victims != nullptr && (start == nullptr || start->at > desk_.now + victims->kill_wait);
    });
  }

  bool gains_by_qos(const QueueConfig& queue, const Job& job, const PlannedStart* start) const {
    if (!stops_by_qos(*job.facts().terms)) return false;
    const std::vector<QueueConfig>& queues = desk_.cluster.config().queues;
    return std::any_of(queues.begin(), queues.end(), [&](const QueueConfig& victims) {
      return reaches_by_qos(queue, victims) &&
             (start == nullptr || start->at > desk_.now + victims.kill_wait);
    });
  }

  bool may_reclaim(const QueueConfig& queue, const Job& job) const {
    return quotas_.is_borrowed_from(queue.name) && waited(job) >= queue.reclaim_grace &&
           is_owed(*job.facts().terms);
  }
  bool gains_by_reclaim(const QueueConfig& queue, const Job& job, const PlannedStart* start) const {
    return may_reclaim(queue, job) && (start == nullptr || start->at > desk_.now + queue.kill_wait);
  }

  // Stops others when that lets the job start sooner than waiting does.
  void make_room(ElementKey element) {
    const Job* job = desk_.cluster.find_job(element.job);
    if (job == nullptr || job->state_of(element.element) != ElementState::kPending) return;
    has_planned_ = true;
    Backfill& backfill = desk_.board.backfill;
    const QueueConfig* queue = desk_.cluster.find_queue(job->facts().queue());
    if (queue == nullptr) return;
    const bool reclaims = may_reclaim(*queue, *job);
    if (reclaims) yield_plans(*job->facts().terms);
    const JobTerms& terms = *job->facts().terms;
    const Reclaim reclaim(desk_.cluster, quotas_,
                          {queue->name, terms.account, is_owed(terms), reclaims});
    const PlanRequest request{element, job->facts().terms, likely_time(*job), nullptr,
                              is_predicted(desk_.cluster, *job->facts().terms)};
    const PlannedStart* planned = backfill.find(element);
    const Present present = desk_.board.present(desk_.cluster, desk_.now);
    const std::optional<Room> room =
        find_room(present, backfill, request, quotas_.is_empty() ? nullptr : &reclaim);
    if (!room) return give_up_room(*job);
    if (planned != nullptr && planned->at <= room->at) return;
    FreedRoom freed{element.job, element.element, room->at, request.time, {}};
    for (const std::vector<NodeId>& nodes : room->places) freed.groups.push_back({nodes});
    desk_.free_room(std::move(freed));
    for (const AttemptKey& victim : room->victims) desk_.preempt(victim, element);
  }

  // Nobody who may be stopped has had more than it. Those behind it have had no less, so that none
  // with the same chance needs to look.
  void give_up_room(const Job& job) {
    const Lane* lane = line_.find_lane(job);
    if (lane != nullptr && orders_by_service(desk_.cluster, *lane->terms))
      cursor_.roomless.insert(chance_of(*lane));
  }

  PassDesk& desk_;
  const PassBudget& budget_;
  PassCursor& cursor_;
  Line& line_;
  QuotaBook& quotas_;
  bool is_qos_preempting_ = false;  // Some QOS may stop jobs of others.
  std::uint32_t refused_ = 0;
  std::uint32_t placed_ = 0;
  std::uint32_t looks_ = 0;
  std::uint32_t nodes_ = 0;
  std::uint32_t members_ = 0;
  bool has_planned_ = false;
};

// Whether enough nodes that are up could ever hold every group without the avoided ones.
bool can_avoid(const Cluster& cluster, const Ledger& ledger, const JobTerms& terms,
               const std::set<NodeId>& avoided) {
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  if (queue == nullptr) return true;
  const std::optional<std::vector<NodeId>> confined = confined_nodes(cluster, terms.reservation);
  for (const Group& group : terms.groups) {
    GroupNeed need = need_of(cluster, *queue, group);
    confine(need, confined ? &*confined : nullptr);
    std::uint32_t able = 0;
    for (const NodeFree& node : ledger.nodes()) {
      if (!node.exists || !in_queue(need, ledger.classes()[node.node_class])) continue;
      const NodeClass& node_class = ledger.classes()[node.node_class];
      if (first_failed(need, node, node_class, avoided) > Constraint::kAvoided) ++able;
      if (able == group.nodes_min) break;
    }
    if (able < group.nodes_min) return false;
  }
  return true;
}

}  // namespace

bool run_pass(PassDesk& desk, const PassBudget& budget, PassCursor& cursor) {
  return Pass(desk, budget, cursor).run();
}

std::optional<Element> next_startable(const Job& job, Instant now) {
  const std::uint32_t running_max = job.facts().terms->array.running_max;
  if (running_max != 0 && job.count(ElementState::kActive) >= running_max) return std::nullopt;
  Element from{0};
  for (int i = 0; i < kBackingOffMax; ++i) {
    const std::optional<Element> element = job.first_in(ElementState::kPending, from);
    if (!element) return std::nullopt;
    const ElementRecord* record = job.find_record(*element);
    if (record == nullptr || record->not_before <= now) return element;
    from = Element{element->value + 1};
  }
  return std::nullopt;
}

std::set<NodeId> avoided_nodes(const Cluster& cluster, const Ledger& ledger, const Job& job,
                               Element element) {
  const ElementRecord* record = job.find_record(element);
  if (record == nullptr || record->nodes_avoided.empty()) return {};
  std::set<NodeId> avoided(record->nodes_avoided.begin(), record->nodes_avoided.end());
  if (!can_avoid(cluster, ledger, *job.facts().terms, avoided)) avoided.clear();
  return avoided;
}

}  // namespace muster
