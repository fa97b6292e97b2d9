// Running ahead.
#include "controller/core/decide/forerun.h"

#include <algorithm>
#include <bit>

#include "base/types/hash.h"
#include "controller/core/decide/attained.h"
#include "controller/core/decide/place.h"
#include "controller/core/decide/schedule.h"
#include "controller/core/decide/shortest.h"

namespace muster {
namespace {

constexpr std::uint64_t kWorkPerPlace = 30;
constexpr std::size_t kEndsExactMax = 2000;  // Beyond, ends that are near one another are one.
constexpr std::int64_t kStepPart = 32;       // How near: of the time from now on.
constexpr Duration kOverdueWait = seconds(30);
constexpr AttemptNo kForetold{0xffffffff};

bool ends_later(Instant a, const AttemptKey& key_a, Instant b, const AttemptKey& key_b) {
  return std::tie(b, key_b) < std::tie(a, key_a);
}

// Which part of all run times the draw takes for that key: over all draws each part once.
std::uint32_t permille_of(const ElementKey& key, std::uint32_t draw, std::uint32_t draws) {
  constexpr std::array<std::uint64_t, 6> kSteps{1, 2, 4, 5, 7, 8};  // Prime to kDrawsMax.
  const std::uint64_t hash = combine64(mix64(key.job.value), key.element.value);
  const std::uint64_t step = kSteps[(hash >> 32U) % kSteps.size()];
  const std::uint64_t part = (hash + draw * step) % draws;
  return static_cast<std::uint32_t>((part * 1000 + 500) / draws);
}

// How many of so many elements are told beside the first: those with 1, 3, 7 … before them, and the
// last.
std::size_t told_elements(std::uint32_t elements) {
  if (elements < 2) return 0;
  return static_cast<std::size_t>(std::bit_width(elements - 1));
}

// Which of them has so many before it. Null: it is not told.
std::optional<std::size_t> told_index(std::uint32_t before, std::uint32_t elements) {
  if (before == 0) return std::nullopt;
  if (before + 1 == elements) return told_elements(elements) - 1;
  if (!std::has_single_bit(before + 1)) return std::nullopt;
  return static_cast<std::size_t>(std::countr_zero(before + 1)) - 1;
}

}  // namespace

ForeRun::ForeRun(const ForeDesk& desk, Instant now, std::vector<Newcomer> newcomers)
    : config_version_(desk.cluster.config().version), began_(now), asked_(std::move(newcomers)) {
  const Board& board = desk.board;
  base_ = {board.ledger, board.horizon, board.licences, board.backfill, {}};
  running_.reserve(desk.cluster.attempts().size());
  for (const auto& [key, attempt] : desk.cluster.attempts()) {
    const Job& job = *desk.cluster.find_job(key.job);
    const Instant since = attempt.launched ? attempt.launched_at : attempt.started_at;
    running_.push_back({key, attempt.place, job.facts_shared(), since,
                        end_known(desk.cluster, attempt), attempt.stopping().has_value()});
  }
  if (Forecast::knows(desk.cluster)) draws_ = kDrawsMax;
}

bool ForeRun::advance(const ForeDesk& desk, std::uint64_t work) {
  if (phase_ != Phase::kOver && desk.cluster.config().version != config_version_) {
    void_ = true;
    phase_ = Phase::kOver;
  }
  while (work != 0 && phase_ != Phase::kOver) {
    if (phase_ == Phase::kCollect && collect(desk, work)) phase_ = Phase::kBegin;
    if (phase_ == Phase::kBegin) {
      begin_draw(desk);
      phase_ = Phase::kDraw;
      return false;
    }
    if (phase_ == Phase::kDraw && draw(desk, work))
      phase_ = ++draw_ == draws_ ? Phase::kSettle : Phase::kBegin;
    if (phase_ == Phase::kSettle && settle(work)) phase_ = Phase::kOver;
  }
  return phase_ == Phase::kOver;
}

// Some lanes in each slice: those that come and go meanwhile are in it or not.
bool ForeRun::collect(const ForeDesk& desk, std::uint64_t& work) {
  if (line_is_read_) return collect_dependents(desk, work);
  const auto& lanes = desk.board.line.lanes();
  auto it = lanes.lower_bound(lane_next_);
  for (; it != lanes.end() && work != 0; ++it) add_lane(desk, it->second, work);
  if (it != lanes.end()) {
    lane_next_ = it->first;
    return false;
  }
  add_newcomers(desk);
  in_line_ = lanes_.size();
  line_is_read_ = true;
  return collect_dependents(desk, work);
}

ForeRun::Waiter ForeRun::waiter_of(const Job& job, const LaneEntry& entry) const {
  Waiter waiter;
  waiter.facts = job.facts_shared();
  waiter.elements = job.count(ElementState::kPending);
  waiter.ready = began_;
  waiter.position = entry.first;
  if (job.facts().terms->array.running_max != 0) waiter.running = job.count(ElementState::kActive);
  std::optional<Element> element = next_startable(job, began_);
  if (!element) {
    element = job.first_in(ElementState::kPending);
    const ElementRecord* record = element ? job.find_record(*element) : nullptr;
    if (record != nullptr) waiter.ready = std::max(began_, record->not_before);
  }
  if (element) waiter.element = *element;
  return waiter;
}

void ForeRun::add_lane(const ForeDesk& desk, const Lane& lane, std::uint64_t& work) {
  Queued queued;
  queued.turn = lane.turn_of(*lane.jobs.begin());
  const auto [shape, is_new] = shapes_.try_emplace(lane.shape, shapes_count_);
  if (is_new) ++shapes_count_;
  queued.shape = shape->second;
  for (const LaneEntry& entry : lane.jobs) {
    const Job* job = desk.cluster.find_job(entry.second);
    if (job == nullptr || job->count(ElementState::kPending) == 0) continue;
    if (queued.waiters.size() == kWaitersPerLaneMax)
      queued.behind.push_back(entry.second);
    else
      queued.waiters.push_back(waiter_of(*job, entry));
  }
  work -= std::min<std::uint64_t>(work, 1 + lane.jobs.size());
  if (queued.waiters.empty()) return;
  queued.limits = tallies_of(desk, party_of(*queued.waiters.front().facts));
  lanes_.push_back(std::move(queued));
}

void ForeRun::add_newcomers(const ForeDesk& desk) {
  for (const Newcomer& one : asked_) {
    Queued queued;
    queued.turn = one.turn;
    queued.shape = shapes_count_++;
    queued.newcomer = true;
    Waiter waiter;
    waiter.facts = one.facts;
    waiter.ready = began_;
    waiter.position = one.turn.position;
    queued.waiters.push_back(std::move(waiter));
    queued.limits = tallies_of(desk, party_of(*one.facts));
    lanes_.push_back(std::move(queued));
  }
}

// What is held is copied when a limit is seen first, in the slice that does.
std::vector<std::uint32_t> ForeRun::tallies_of(const ForeDesk& desk, const LimitParty& party) {
  std::vector<std::uint32_t> found;
  for (const LimitBook::Tally* tally : desk.board.limits.tallies(desk.cluster, party)) {
    const auto known = std::find_if(base_.tallies.begin(), base_.tallies.end(),
                                    [&](const Tally& one) { return one.scope == tally->scope; });
    found.push_back(static_cast<std::uint32_t>(known - base_.tallies.begin()));
    if (known == base_.tallies.end())
      base_.tallies.push_back({tally->scope, tally->limits, tally->running, tally->held});
  }
  return found;
}

Duration ForeRun::likely_time(const ForeDesk& desk, const JobFacts& facts) const {
  if (!is_predicted(desk.cluster, *facts.terms)) return facts.time_limit();
  return std::min(facts.time_limit(), desk.board.order.forecast.likely_end(desk.cluster, facts));
}

Duration ForeRun::drawn_time(const ForeDesk& desk, const JobFacts& facts, ElementKey key,
                             Duration age) const {
  const Duration limit = std::max(facts.time_limit() - age, Duration{});
  if (draws_ == 1) return limit;
  return std::min(limit, desk.board.order.forecast.remaining_at(desk.cluster, facts, age,
                                                                permille_of(key, draw_, draws_)));
}

void ForeRun::begin_draw(const ForeDesk& desk) {
  books_ = base_;
  now_ = began_;
  ends_.clear();
  heap_.clear();
  wakes_ = {began_};
  placed_ = 0;
  worked_ = 0;
  waiting_ = 0;
  newcomers_waiting_ = asked_.size();
  for (const Running& one : running_) {
    Instant at = one.limit;
    if (draws_ != 1 && !one.stopping) {
      const Duration age = std::max(began_ - one.since, Duration{});
      at = std::min(at, began_ + drawn_time(desk, *one.facts, one.key.element_key(), age));
    }
    if (one.limit <= began_) at = began_ + kOverdueWait;
    ends_.push_back({at, one.key, one.place, one.facts, {}});
  }
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    Queued& queued = lanes_[lane];
    queued.first = 0;
    for (Waiter& waiter : queued.waiters) {
      waiter.left = waiter.elements;
      waiter.active = waiter.running;
      waiter.allowed = waiter.elements;
      waiter.starts.push_back(kNever);
      waiter.later.resize((draw_ + 1) * told_elements(waiter.elements), kNever);
      if (waiter.ready > began_ && !waiter.gated) wakes_.insert(waiter.ready);
      ++waiting_;
    }
  }
  std::make_heap(ends_.begin(), ends_.end(),
                 [](const End& a, const End& b) { return ends_later(a.at, a.key, b.at, b.key); });
  close_gates();
}

bool ForeRun::draw(const ForeDesk& desk, std::uint64_t& work) {
  while (work != 0) {
    if (waiting_ == 0 || placed_ >= kPlacesPerDrawMax || worked_ >= kWorkPerDrawMax) return true;
    const std::uint64_t before = work;
    if (heap_.empty()) {
      if (!begin_moment(desk)) return true;
      work -= std::min<std::uint64_t>(work, 1 + (in_line_ + let_through_.size()) / 4);
    } else {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate candidate = heap_.back();
      heap_.pop_back();
      look_at(desk, candidate, work);
    }
    worked_ += before - work;
  }
  return false;
}

// The next time at which something may start. False: there is none.
bool ForeRun::begin_moment(const ForeDesk& desk) {
  if (ends_.empty() && wakes_.empty()) return false;
  if (wakes_.empty())
    now_ = ends_.front().at;
  else
    now_ = ends_.empty() ? *wakes_.begin() : std::min(ends_.front().at, *wakes_.begin());
  if (ends_.size() > kEndsExactMax) now_ = now_ + Duration{(now_ - began_).us / kStepPart};
  if (now_ - began_ > kAheadMax) return false;
  while (!ends_.empty() && ends_.front().at <= now_) end_one(desk);
  wakes_.erase(wakes_.begin(), wakes_.upper_bound(now_));
  refused_.assign(shapes_count_, false);
  unplannable_.assign(shapes_count_, false);
  books_.backfill.clear(now_);
  for (std::uint32_t lane = 0; lane < in_line_; ++lane) push(lane, lanes_[lane].first);
  for (const std::uint32_t lane : let_through_) push(lane, lanes_[lane].first);
  return true;
}

void ForeRun::end_one(const ForeDesk& desk) {
  std::pop_heap(ends_.begin(), ends_.end(),
                [](const End& a, const End& b) { return ends_later(a.at, a.key, b.at, b.key); });
  const End end = std::move(ends_.back());
  ends_.pop_back();
  books_.ledger.give(*end.place);
  books_.horizon.leave(end.key, *end.place);
  books_.licences.give(end.key, *end.facts->terms);
  count(desk, *end.facts, *end.place, false);
  if (end.waiter) --lanes_[end.waiter->first].waiters[end.waiter->second].active;
  if (!watched_.empty()) note_end(end.key);
}

void ForeRun::push(std::uint32_t lane, std::size_t at) {
  const Queued& queued = lanes_[lane];
  if (at >= queued.waiters.size()) return;
  Turn turn = queued.turn;
  turn.position = queued.waiters[at].position;
  turn.job = queued.newcomer ? queued.turn.job : queued.waiters[at].facts->id;
  heap_.push_back({turn, lane, static_cast<std::uint32_t>(at)});
  std::push_heap(heap_.begin(), heap_.end());
}

Present ForeRun::present(const ForeDesk& desk) const {
  return {desk.cluster, books_.ledger, books_.horizon, now_, &desk.board.calendar};
}

void ForeRun::look_at(const ForeDesk& desk, const Candidate& candidate, std::uint64_t& work) {
  const auto spend = [&](std::uint64_t units) { work -= std::min(work, units); };
  spend(1);
  Queued& lane = lanes_[candidate.lane];
  Waiter& waiter = lane.waiters[candidate.at];
  const JobTerms& terms = *waiter.facts->terms;
  const bool refused = refused_[lane.shape];
  if (refused && !may_plan(desk, lane, waiter)) return;
  const std::uint32_t running_max = terms.array.running_max;
  if (waiter.left == 0 || waiter.ready > now_ || waiter.elements - waiter.left >= waiter.allowed ||
      (running_max != 0 && waiter.active >= running_max))
    return push(candidate.lane, candidate.at + 1);
  if (is_limited(lane, terms)) return;
  if (books_.licences.find_lacking(terms.licences) != nullptr) {
    refused_[lane.shape] = unplannable_[lane.shape] = true;
    return;
  }
  if (find_kept(books_.licences, desk.board.calendar, terms, now_))
    return push(candidate.lane, candidate.at + 1);
  if (refused) {
    plan(desk, candidate, work);
    return push(candidate.lane, candidate.at + 1);
  }
  static const std::set<NodeId> kNone;
  const ElementKey key{waiter.facts->id, waiter.element};
  PlaceFailure failure;
  std::optional<Place> place =
      find_place(present(desk),
                 {terms, kNone, &books_.backfill, now_ + likely_time(desk, *waiter.facts),
                  books_.backfill.nodes_before(key), key},
                 &failure);
  spend(kWorkPerPlace + failure.nodes_looked_at);
  if (place) return start(desk, candidate, *std::move(place));
  refused_[lane.shape] = true;
  plan(desk, candidate, work);
  push(candidate.lane, candidate.at + 1);
}

void ForeRun::start(const ForeDesk& desk, const Candidate& candidate, Place place) {
  Queued& lane = lanes_[candidate.lane];
  Waiter& waiter = lane.waiters[candidate.at];
  if (waiter.starts.back() == kNever) waiter.starts.back() = now_;
  if (lane.newcomer) {
    waiter.left = 0;
    if (--newcomers_waiting_ == 0) waiting_ = 0;  // Nobody asks for the others.
    return;
  }
  ++placed_;
  if (const auto told = told_index(waiter.elements - waiter.left, waiter.elements))
    waiter.later[draw_ * told_elements(waiter.elements) + *told] = now_;
  const AttemptKey key{waiter.facts->id,
                       Element{waiter.element.value + waiter.elements - waiter.left}, kForetold};
  const auto shared = std::make_shared<const Place>(std::move(place));
  books_.ledger.take(*shared);
  books_.backfill.remove(ElementKey{waiter.facts->id, waiter.element});
  books_.horizon.enter(desk.cluster, key, *shared, now_ + likely_time(desk, *waiter.facts));
  books_.licences.take(key, *waiter.facts->terms, now_ + waiter.facts->time_limit());
  count(desk, *waiter.facts, *shared, true);
  const Instant end = now_ + drawn_time(desk, *waiter.facts, key.element_key(), {});
  ends_.push_back({end, key, shared, waiter.facts, std::pair{candidate.lane, candidate.at}});
  std::push_heap(ends_.begin(), ends_.end(),
                 [](const End& a, const End& b) { return ends_later(a.at, a.key, b.at, b.key); });
  ++waiter.active;
  if (!watched_.empty()) note_start(key);
  if (--waiter.left != 0) return push(candidate.lane, candidate.at);
  --waiting_;
  while (lane.first < lane.waiters.size() && lane.waiters[lane.first].left == 0) ++lane.first;
  push(candidate.lane, candidate.at + 1);
}

bool ForeRun::may_plan(const ForeDesk& desk, const Queued& lane, const Waiter& waiter) const {
  if (lane.newcomer || unplannable_[lane.shape]) return false;
  const JobTerms& terms = *waiter.facts->terms;
  const QueueConfig* queue = desk.cluster.find_queue(terms.queue);
  if (queue == nullptr || books_.backfill.planned_in(queue->name) >= queue->planned_starts)
    return false;
  if (orders_by_service(desk.cluster, terms)) return false;
  return !orders_by_length(desk.cluster, terms) ||
         has_waited_long(terms, desk.board.order.node_gpus, now_ - waiter.facts->submitted_at);
}

void ForeRun::plan(const ForeDesk& desk, const Candidate& candidate, std::uint64_t& work) {
  const Queued& lane = lanes_[candidate.lane];
  const Waiter& waiter = lane.waiters[candidate.at];
  const ElementKey key{waiter.facts->id, waiter.element};
  if (!may_plan(desk, lane, waiter) || books_.backfill.find(key) != nullptr) return;
  work -= std::min<std::uint64_t>(work, books_.ledger.nodes().size());
  const PlanRequest request{key, waiter.facts->terms, likely_time(desk, *waiter.facts), nullptr,
                            is_predicted(desk.cluster, *waiter.facts->terms)};
  if (books_.backfill.plan(present(desk), request) == nullptr) unplannable_[lane.shape] = true;
}

bool ForeRun::is_limited(const Queued& lane, const JobTerms& terms) const {
  if (lane.limits.empty()) return false;
  const Holding asked = holding_of(terms);
  return std::any_of(lane.limits.begin(), lane.limits.end(), [&](std::uint32_t index) {
    const Tally& tally = books_.tallies[index];
    const auto is_over = [](std::uint64_t limit, std::uint64_t used, std::uint64_t more) {
      return limit != 0 && more != 0 && used + more > limit;
    };
    const Limits& limits = tally.limits;
    return is_over(limits.running_jobs, tally.running, 1) ||
           is_over(std::uint64_t{limits.gpus} * kMilliPerGpu, tally.held.gpus_milli,
                   asked.gpus_milli) ||
           is_over(limits.cpus, tally.held.cpus, asked.cpus) ||
           is_over(limits.nodes, tally.held.nodes, asked.nodes);
  });
}

void ForeRun::count(const ForeDesk& desk, const JobFacts& facts, const Place& place, bool begins) {
  if (books_.tallies.empty()) return;
  const Holding holding = holding_of(place, {});
  const auto move = [begins](std::uint64_t& sum, std::uint64_t by) {
    sum = begins ? sum + by : sum - std::min(sum, by);
  };
  for (const LimitBook::Tally* counted : desk.board.limits.tallies(desk.cluster, party_of(facts))) {
    for (Tally& tally : books_.tallies) {
      if (tally.scope != counted->scope) continue;
      move(tally.running, 1);
      move(tally.held.gpus_milli, holding.gpus_milli);
      move(tally.held.cpus, holding.cpus);
      move(tally.held.nodes, holding.nodes);
    }
  }
}

bool ForeRun::settle(std::uint64_t& work) {
  for (; settled_ < lanes_.size() && work != 0; ++settled_) {
    settle_lane(lanes_[settled_]);
    work -= std::min<std::uint64_t>(work, 1 + lanes_[settled_].waiters.size());
  }
  if (settled_ < lanes_.size()) return false;
  std::sort(starts_.begin(), starts_.end(),
            [](const StartEstimate& a, const StartEstimate& b) { return a.job < b.job; });
  std::sort(elements_.begin(), elements_.end(), [](const ElementStart& a, const ElementStart& b) {
    return std::tie(a.job, a.before) < std::tie(b.job, b.before);
  });
  return true;
}

std::optional<std::pair<Instant, Instant>> ForeRun::chances_of(std::vector<Instant>& starts) const {
  const std::size_t half = draws_ / 2;
  const std::size_t most = (draws_ * 9 + 9) / 10 - 1;
  if (starts.size() <= most) return std::nullopt;
  std::sort(starts.begin(), starts.end());
  return std::pair{starts[half], starts[most]};
}

void ForeRun::settle_elements(const Waiter& waiter) {
  const std::size_t told = told_elements(waiter.elements);
  for (std::size_t i = 0; i < told; ++i) {
    std::vector<Instant> starts;
    for (std::uint32_t draw = 0; draw < draws_; ++draw) {
      const Instant at = waiter.later[draw * told + i];
      if (at != kNever) starts.push_back(at);
    }
    const std::uint32_t before = i + 1 == told ? waiter.elements - 1 : (std::uint32_t{2} << i) - 1;
    if (const auto chances = chances_of(starts))
      elements_.push_back(
          {waiter.facts->id, before, waiter.elements, chances->first, chances->second});
  }
}

// What was not started when a draw stopped follows at the rate of those of its lane that were.
void ForeRun::settle_lane(const Queued& lane) {
  struct Rate {
    Instant last;
    std::size_t at = 0;
    Duration each;
  };
  std::vector<Rate> rates(draws_);
  for (std::uint32_t draw = 0; draw < draws_; ++draw) {
    std::size_t last = lane.waiters.size();
    while (last != 0 && lane.waiters[last - 1].starts[draw] == kNever) --last;
    if (last < 2 || lane.waiters[0].starts[draw] == kNever) continue;
    const Instant at = lane.waiters[last - 1].starts[draw];
    const auto steps = static_cast<std::int64_t>(last - 1);
    rates[draw] = {at, last - 1, Duration{(at - lane.waiters[0].starts[draw]).us / steps}};
  }
  const auto estimate = [&](JobId job, std::size_t index, const Waiter* waiter) {
    std::vector<Instant> starts;
    for (std::uint32_t draw = 0; draw < draws_; ++draw) {
      const Rate& rate = rates[draw];
      if (waiter != nullptr && waiter->starts[draw] != kNever)
        starts.push_back(waiter->starts[draw]);
      else if (rate.each > Duration{} && index > rate.at)
        starts.push_back(rate.last + rate.each * static_cast<std::int64_t>(index - rate.at));
    }
    std::optional<StartEstimate> found;
    if (const auto chances = chances_of(starts))
      found = StartEstimate{job, chances->first, chances->second};
    return found;
  };
  for (std::size_t i = 0; i < lane.waiters.size(); ++i) {
    const Waiter& waiter = lane.waiters[i];
    auto found = estimate(waiter.facts->id, i, &waiter);
    if (lane.newcomer)
      newcomer_starts_.push_back(found);
    else if (found)
      starts_.push_back(*found);
    if (found && !lane.newcomer) settle_elements(waiter);
  }
  for (std::size_t i = 0; i < lane.behind.size(); ++i) {
    if (const auto found = estimate(lane.behind[i], lane.waiters.size() + i, nullptr))
      starts_.push_back(*found);
  }
}

}  // namespace muster
