// Standing in line.
#include "controller/core/decide/line.h"

#include "base/types/digest.h"

namespace muster {

std::int64_t position_of(const Job& job) {
  return job.top() != 0 ? -job.top() : static_cast<std::int64_t>(job.facts().id.value);
}

Turn turn_of(const Cluster& cluster, const Job& job) {
  const QueueConfig* queue = cluster.find_queue(job.facts().queue());
  const std::int64_t queue_priority = queue == nullptr ? 0 : queue->priority;
  return {-queue_priority, -std::int64_t{job.facts().priority()}, position_of(job), job.facts().id};
}

Line::Key Line::key_of(const JobTerms& terms) {
  Key key;
  Digest digest;
  digest(1, "queue", terms.queue);
  digest(2, "account", terms.account);
  digest(3, "groups", terms.groups);
  digest(4, "priority", terms.priority);
  key.digest = digest.value();
  key.queue = terms.queue;
  key.account = terms.account;
  key.priority = terms.priority;
  key.groups = terms.groups;
  return key;
}

void Line::rebuild(const Cluster& cluster) {
  shapes_.clear();
  ids_.clear();
  heads_.clear();
  waiting_ = 0;
  for (const auto& [id, job] : cluster.jobs()) refresh(cluster, id);
}

void Line::unhead(const Shape& shape) {
  if (!shape.jobs.empty()) heads_.erase({shape.turn_of(*shape.jobs.begin()), shape.id});
}

void Line::head(const Shape& shape) {
  if (!shape.jobs.empty()) heads_.emplace(shape.turn_of(*shape.jobs.begin()), shape.id);
}

void Line::insert(Shape& shape, std::pair<std::int64_t, JobId> entry) {
  if (!shape.jobs.empty() && *shape.jobs.begin() < entry) {
    waiting_ += shape.jobs.insert(entry).second ? 1U : 0U;
    return;
  }
  unhead(shape);
  waiting_ += shape.jobs.insert(entry).second ? 1U : 0U;
  head(shape);
}

void Line::erase(Shape& shape, std::pair<std::int64_t, JobId> entry) {
  const auto found = shape.jobs.find(entry);
  if (found == shape.jobs.end()) return;
  const bool first = found == shape.jobs.begin();
  if (first) unhead(shape);
  shape.jobs.erase(found);
  --waiting_;
  if (first) head(shape);
  if (!shape.jobs.empty()) return;
  ids_.erase(key_of(*shape.terms));
  shapes_.erase(shape.id);
}

void Line::refresh(const Cluster& cluster, JobId id) {
  const Job* job = cluster.find_job(id);
  if (job == nullptr) return;
  const std::pair<std::int64_t, JobId> entry{position_of(*job), id};
  const auto [it, is_new] = ids_.try_emplace(key_of(*job->facts().terms), next_);
  if (job->count(ElementState::kPending) == 0) {
    if (is_new)
      ids_.erase(it);
    else
      erase(shapes_.at(it->second), entry);
    return;
  }
  if (is_new) {
    Shape& added = shapes_[next_];
    added.id = next_;
    added.terms = job->facts().terms;
    const QueueConfig* queue = cluster.find_queue(added.terms->queue);
    added.queue_priority = queue == nullptr ? 0 : queue->priority;
    next_ = ShapeId{next_.value + 1};
  }
  Shape& shape = shapes_.at(it->second);
  insert(shape, entry);
}

void Line::remove(const Cluster& cluster, JobId id) {
  const Job* job = cluster.find_job(id);
  if (job == nullptr) return;
  const auto found = ids_.find(key_of(*job->facts().terms));
  if (found != ids_.end()) erase(shapes_.at(found->second), {position_of(*job), id});
}

const Shape* Line::find_shape(const JobTerms& terms) const {
  const auto found = ids_.find(key_of(terms));
  return found == ids_.end() ? nullptr : &shapes_.at(found->second);
}

void Line::set_refused(ShapeId shape, std::uint64_t generation) {
  const auto found = shapes_.find(shape);
  if (found != shapes_.end()) found->second.refused_at = generation;
}

std::uint32_t Line::jobs_ahead(const std::string& queue, const Turn& turn) const {
  std::uint32_t ahead = 0;
  for (const auto& [id, shape] : shapes_) {
    if (shape.terms->queue != queue) continue;
    for (const auto& entry : shape.jobs) {
      if (!(shape.turn_of(entry) < turn)) break;
      ++ahead;
    }
  }
  return ahead;
}

}  // namespace muster
