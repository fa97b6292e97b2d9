// Standing in line.
#include "controller/core/decide/line.h"

#include <algorithm>
#include <bit>

#include "base/types/digest.h"
#include "controller/core/decide/attained.h"

namespace muster {
std::int64_t position_of(const Job& job) {
  return job.top() != 0 ? -job.top() : static_cast<std::int64_t>(job.facts().id.value);
}

LaneEntry entry_of(const Job& job) { return {position_of(job), job.facts().id}; }

Duration time_class(Duration limit) {
  const std::uint64_t us = limit.us > 0 ? static_cast<std::uint64_t>(limit.us) : 0;
  const auto bits = static_cast<unsigned>(std::bit_width(us));
  if (bits <= 3) return limit;
  const std::uint64_t step = std::uint64_t{1} << (bits - 3);
  return Duration{static_cast<std::int64_t>((us + step - 1) / step * step)};
}

Line::DemandKey Line::key_of(const JobTerms& terms) {
  Digest digest;
  digest(1, "queue", terms.queue);
  digest(2, "groups", terms.groups);
  return DemandKey{digest.value(), terms.queue,    terms.groups,
                   terms.licences, terms.topology, terms.reservation};
}

Line::LaneKey Line::key_of(const Lane& lane) {
  const JobTerms& terms = *lane.terms;
  return LaneKey{lane.shape, lane.uid,   terms.priority, terms.account,
                 terms.qos,  terms.nice, lane.likeness,  lane.level};
}

Line::LaneKey Line::key_of(ShapeId shape, const JobFacts& facts) const {
  const bool learns = learning_.count(facts.queue()) != 0;
  const auto level = levels_.find(facts.id);
  const JobTerms& terms = *facts.terms;
  return LaneKey{shape,
                 facts.uid(),
                 terms.priority,
                 terms.account,
                 terms.qos,
                 terms.nice,
                 learns ? name_likeness(facts.name) : "",
                 level == levels_.end() ? 0 : level->second};
}

void Line::rebuild(const Cluster& cluster, const Order& order) {
  demands_.clear();
  demand_ids_.clear();
  shapes_.clear();
  shape_ids_.clear();
  lanes_.clear();
  lane_ids_.clear();
  fresh_.clear();
  waiting_ = 0;
  levels_.clear();
  learning_.clear();
  scored_at_ = cluster.applied_at();
  for (const QueueConfig& queue : cluster.config().queues) {
    if (goes_by_forecasts(queue)) learning_.insert(queue.name);
  }
  for (const auto& [id, job] : cluster.jobs()) refresh(cluster, order, id);
}

DemandId Line::demand_for(const std::shared_ptr<const JobTerms>& terms) {
  const auto [it, is_new] = demand_ids_.try_emplace(key_of(*terms), demand_next_);
  if (is_new) demands_[demand_next_++] = Demand{terms, 0, 0};
  return it->second;
}

Shape& Line::shape_for(const std::shared_ptr<const JobTerms>& terms) {
  const DemandId demand = demand_for(terms);
  const Duration time = time_class(terms->time_limit);
  const auto [it, is_new] = shape_ids_.try_emplace({demand, time}, shape_next_);
  if (!is_new) return shapes_.at(it->second);
  Shape& added = shapes_[shape_next_];
  added.id = shape_next_;
  added.demand = demand;
  added.time = time;
  ++demands_.at(demand).shapes;
  shape_next_ = ShapeId{shape_next_.value + 1};
  return added;
}

void Line::drop_shape(ShapeId id) {
  const Shape& shape = shapes_.at(id);
  const DemandId demand = shape.demand;
  shape_ids_.erase({demand, shape.time});
  shapes_.erase(id);
  Demand& of = demands_.at(demand);
  if (--of.shapes != 0) return;
  demand_ids_.erase(key_of(*of.terms));
  demands_.erase(demand);
}

Lane& Line::lane_for(const Cluster& cluster, const Order& order, const Job& job) {
  const JobFacts& facts = job.facts();
  const ShapeId shape = shape_for(facts.terms).id;
  LaneKey key = key_of(shape, facts);
  const auto [lane, is_new] = lane_ids_.try_emplace(key, lane_next_);
  if (!is_new) return lanes_.at(lane->second);
  Lane& added = lanes_[lane_next_];
  added.id = lane_next_++;
  added.shape = shape;
  added.terms = facts.terms;
  added.uid = facts.uid();
  const QueueConfig* queue = cluster.find_queue(facts.queue());
  added.queue_priority = queue == nullptr ? 0 : queue->priority;
  added.likeness = std::move(key.likeness);
  added.level = key.level;
  const Rank rank = order.rank(cluster, job, scored_at_);
  added.score = rank.score;
  added.length = rank.length;
  return added;
}

void Line::head(const Lane& lane) {
  if (!lane.jobs.empty())
    shapes_.at(lane.shape).heads.emplace(lane.turn_of(*lane.jobs.begin()), lane.id);
}

void Line::unhead(const Lane& lane) {
  if (!lane.jobs.empty())
    shapes_.at(lane.shape).heads.erase({lane.turn_of(*lane.jobs.begin()), lane.id});
}

void Line::insert(Lane& lane, const LaneEntry& entry) {
  const bool first = lane.jobs.empty() || entry < *lane.jobs.begin();
  if (first) unhead(lane);
  waiting_ += lane.jobs.insert(entry).second ? 1U : 0U;
  if (first) head(lane);
}

void Line::erase(Lane& lane, const LaneEntry& entry) {
  const auto found = lane.jobs.find(entry);
  if (found == lane.jobs.end()) return;
  const bool first = found == lane.jobs.begin();
  if (first) unhead(lane);
  lane.jobs.erase(found);
  if (first) head(lane);
  --waiting_;
  if (!lane.jobs.empty()) return;
  const ShapeId shape = lane.shape;
  lane_ids_.erase(key_of(lane));
  lanes_.erase(lane.id);
  if (shapes_.at(shape).heads.empty()) drop_shape(shape);
}

void Line::refresh(const Cluster& cluster, const Order& order, JobId id) {
  const Job* job = cluster.find_job(id);
  if (job == nullptr) return;
  if (job->count(ElementState::kPending) == 0) {
    const Lane* left = find_lane(*job);
    const LaneId left_id = left == nullptr ? 0 : left->id;
    remove(cluster, id);
    // Who comes next there has not waited as long. Never forward: a round that looks at the lane
    // would lose it.
    const auto next = lanes_.find(left_id);
    if (next != lanes_.end() && next->second.length != 0)
      stand(cluster, order, next->second, next->second.length);
    return;
  }
  relevel(cluster, *job);
  Lane& lane = lane_for(cluster, order, *job);
  insert(lane, entry_of(*job));
  fresh_.insert(lane.id);
}

void Line::remove(const Cluster& cluster, JobId id) {
  const Job* job = cluster.find_job(id);
  if (job == nullptr) return;
  if (const Lane* lane = find_lane(*job)) erase(lanes_.at(lane->id), entry_of(*job));
  levels_.erase(id);
}

// It stands where it stood, or nowhere before it comes to another lane.
void Line::relevel(const Cluster& cluster, const Job& job) {
  const JobId id = job.facts().id;
  const std::uint32_t level = level_in_line(cluster, job);
  const auto known = levels_.find(id);
  if (level == (known == levels_.end() ? 0 : known->second)) return;
  remove(cluster, id);
  if (level != 0) levels_[id] = level;
}

void Line::stand(const Cluster& cluster, const Order& order, Lane& lane, std::int64_t length_min) {
  const Job& job = *cluster.find_job(lane.jobs.begin()->second);
  Rank rank = order.rank(cluster, job, scored_at_);
  rank.length = std::max(rank.length, length_min);
  if (rank.score == lane.score && rank.length == lane.length) return;
  unhead(lane);
  lane.score = rank.score;
  lane.length = rank.length;
  head(lane);
}

LaneId Line::rescore(const Cluster& cluster, const Order& order, Instant at, LaneId from,
                     std::size_t count) {
  scored_at_ = at;
  auto it = lanes_.upper_bound(from);
  for (; it != lanes_.end() && count != 0; ++it, --count) stand(cluster, order, it->second);
  return it == lanes_.end() ? 0 : std::prev(it)->first;
}

void Line::touch(const Cluster& cluster, JobId id) {
  const Job* job = cluster.find_job(id);
  if (job == nullptr) return;
  if (const Lane* lane = find_lane(*job)) fresh_.insert(lane->id);
}

const Lane* Line::find_lane(LaneId id) const {
  const auto found = lanes_.find(id);
  return found == lanes_.end() ? nullptr : &found->second;
}

const Lane* Line::find_lane(const Job& job) const {
  const auto demand = demand_ids_.find(key_of(*job.facts().terms));
  if (demand == demand_ids_.end()) return nullptr;
  const auto shape = shape_ids_.find({demand->second, time_class(job.facts().time_limit())});
  if (shape == shape_ids_.end()) return nullptr;
  const auto lane = lane_ids_.find(key_of(shape->second, job.facts()));
  if (lane == lane_ids_.end()) return nullptr;
  const Lane& found = lanes_.at(lane->second);
  return found.jobs.count(entry_of(job)) == 0 ? nullptr : &found;
}

void Line::set_refused(ShapeId id, std::uint64_t round, bool however_short) {
  const auto found = shapes_.find(id);
  if (found == shapes_.end()) return;
  found->second.refused_in = round;
  if (however_short) demands_.at(found->second.demand).refused_in = round;
}

bool Line::is_refused(ShapeId id, std::uint64_t round) const {
  const auto found = shapes_.find(id);
  if (found == shapes_.end()) return true;
  return found->second.refused_in == round || demands_.at(found->second.demand).refused_in == round;
}

void Line::set_refused(LaneId id, std::uint64_t round) {
  const auto found = lanes_.find(id);
  if (found != lanes_.end()) found->second.refused_in = round;
}

std::uint32_t Line::jobs_ahead(const std::string& queue, const Turn& turn) const {
  std::uint32_t ahead = 0;
  for (const auto& [id, lane] : lanes_) {
    if (lane.terms->queue != queue) continue;
    for (const LaneEntry& entry : lane.jobs) {
      if (!(lane.turn_of(entry) < turn)) break;
      ++ahead;
    }
  }
  return ahead;
}

}  // namespace muster
