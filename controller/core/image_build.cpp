// Putting a cluster together from items that came from a disk.
#include <algorithm>

#include "base/types/digest.h"
#include "controller/core/cluster_apply.h"
#include "controller/core/image.h"
#include "controller/core/job_change.h"

namespace muster {

struct ImageBuilder {
  ClusterImage& image;
  Cluster& cluster;

  static Error corrupt(const std::string& what) {
    return fail(ErrorCode::kCorrupt, "snapshot: " + what);
  }
  static std::shared_ptr<const Ending> share(const std::optional<Ending>& ending) {
    return ending ? std::make_shared<const Ending>(*ending) : nullptr;
  }

  Result<void> operator()(ImageHead& item) const {
    cluster.epoch_ = item.epoch;
    cluster.cluster_id_ = item.cluster_id;
    cluster.applied_at_ = item.applied_at;
    cluster.job_next_ = item.job_next;
    cluster.node_next_ = item.node_next;
    cluster.config_ = std::make_shared<const ClusterConfig>(std::move(item.config));
    image.wall_ = item.wall;
    return {};
  }

  Result<void> operator()(ImageNode& item) const {
    Node& node = item.node;
    if (node.id.value == 0 || node.id >= cluster.node_next_) return corrupt("bad node number");
    if (node.device_ids.size() != node.inventory.gpus.size())
      return corrupt("node without its devices");
    if (!cluster.node_names_.emplace(node.name, node.id).second) return corrupt("node name twice");
    cluster.digest_ += digest_of(node);
    if (!cluster.nodes_.emplace(node.id, std::move(node)).second) return corrupt("node twice");
    return {};
  }

  Result<void> operator()(ImageDevice& item) const {
    if (item.id.value != cluster.devices_.size() + 1) return corrupt("devices out of order");
    if (!cluster.device_uuids_.emplace(item.uuid, item.id).second) return corrupt("device twice");
    cluster.devices_.push_back(Device{item.id, item.uuid, item.node});
    cluster.digest_ += digest_of_device(cluster.devices_.back());
    return {};
  }

  Result<void> operator()(ImageOwner& item) const {
    image.owners_.push_back(std::move(item.owner));
    return {};
  }

  Result<void> operator()(ImageTerms& item) const {
    std::uint64_t least = 0;
    for (const IndexRange& range : item.terms.array.ranges) {
      if (range.step == 0 || range.first > range.last || range.first < least)
        return corrupt("bad array");
      least = std::uint64_t{range.last} + 1;
    }
    if (item.terms.groups.empty()) return corrupt("job without a group");
    image.terms_.push_back(std::move(item.terms));
    return {};
  }

  Result<void> operator()(ImageJob& item) const {
    if (item.owner >= image.owners_.size() || item.terms >= image.terms_.size()) {
      return corrupt("job without its owner or terms");
    }
    if (item.id.value == 0 || item.id >= cluster.job_next_) return corrupt("bad job number");
    auto facts = std::make_shared<JobFacts>();
    facts->id = item.id;
    facts->request = item.request;
    facts->request_index = item.request_index;
    facts->name = std::move(item.name);
    facts->owner = cluster.owners_.take(image.owners_[item.owner]);
    facts->terms = cluster.terms_.take(image.terms_[item.terms]);
    facts->launch = std::move(item.launch);
    facts->script = item.script;
    facts->environment = item.environment;
    facts->submitted_at = item.submitted_at;
    facts->submitted_wall = item.submitted_wall;
    if (item.gate) facts->gate = std::make_shared<const JobGate>(*std::move(item.gate));
    const auto [it, is_new] =
        cluster.jobs_.try_emplace(item.id, std::move(facts), ElementState::kPending);
    if (!is_new) return corrupt("job twice");
    if (item.ended_seq.value == 0 && item.ended_at.us != 0)
      return corrupt("end without its record");
    it->second.top_ = item.top;
    it->second.held_by_operator_ = item.held_by_operator;
    return put_spans(it->second, item);
  }

  // The spans, and room for the touched elements that follow.
  Result<void> put_spans(Job& job, const ImageJob& item) const {
    const std::uint32_t total = job.elements();
    const bool plain = !job.is_array() && item.spans.size() == 1 && !item.spans[0].ending;
    if (plain) {
      const bool ended = item.spans[0].state == ElementState::kEnded || item.ended_seq.value != 0;
      if (ended || item.spans[0].first != 0 || item.spans[0].last != 0)
        return corrupt("bad plain job");
      job.plain_ = item.spans[0].state;
      return {};
    }
    Job::Detail& detail = job.detail();
    detail.spans.clear();
    detail.counts = {};
    std::uint64_t least = 0;
    for (const ImageSpan& span : item.spans) {
      if (span.first < least || span.first > span.last || span.last >= total)
        return corrupt("bad span");
      if ((span.state == ElementState::kEnded) != span.ending.has_value())
        return corrupt("bad end of a span");
      least = std::uint64_t{span.last} + 1;
      detail.spans.push_back({span.first, span.last, span.state, share(span.ending)});
      detail.counts[static_cast<std::size_t>(span.state)] += span.last - span.first + 1;
      if (has_completed(detail.spans.back().ending)) detail.completed += span.last - span.first + 1;
    }
    detail.ended_seq = item.ended_seq;
    detail.ended_at = item.ended_at;
    return {};
  }

  // An element of the job that neither a span nor a record stands for yet.
  static bool is_free(const Job& job, Element element) {
    const auto ordinal = ordinal_of(job.facts().terms->array, element);
    return ordinal && job.find_span(*ordinal) == nullptr &&
           job.touched().find(element) == nullptr && job.touched().find_ended(element) == nullptr;
  }

  Result<void> operator()(ImageEndedElements& item) const {
    const auto found = cluster.jobs_.find(item.job);
    if (found == cluster.jobs_.end() || !found->second.is_array())
      return corrupt("ended elements without their array");
    Job& job = found->second;
    Job::Detail& detail = job.detail();
    if (detail.kinds == nullptr) detail.kinds = std::make_shared<EndKinds>();
    std::vector<std::shared_ptr<const EndKind>> kinds;
    for (EndKind& kind : item.kinds) kinds.push_back(detail.kinds->take(std::move(kind)));
    for (const ImageEnded& ended : item.elements) {
      if (!is_free(job, ended.element) || ended.kind >= kinds.size()) return corrupt("bad element");
      const std::shared_ptr<const EndKind>& kind = kinds[ended.kind];
      ++detail.counts[static_cast<std::size_t>(ElementState::kEnded)];
      detail.completed += kind->cause.kind == CauseKind::kCompleted ? 1U : 0U;
      detail.touched.put_ended(ended.element, {kind, ended.at, ended.wall, ended.launched_wall,
                                               ended.charged, ended.attempts});
    }
    return {};
  }

  Result<void> operator()(ImageTouched& item) const {
    const auto found = cluster.jobs_.find(item.job);
    if (found == cluster.jobs_.end()) return corrupt("elements without their job");
    Job& job = found->second;
    if (!job.detail_) return corrupt("element that is untouched and touched");
    Job::Detail& detail = job.detail();
    for (ImageRecord& record : item.records) {
      if (!is_free(job, record.element)) return corrupt("bad element");
      if ((record.state == ElementState::kEnded) != record.ending.has_value())
        return corrupt("bad end");
      ElementRecord& added = detail.touched.take(record.element);
      added = ElementRecord{record.state,
                            record.attempts,
                            record.retries,
                            record.not_before,
                            std::move(record.nodes_avoided),
                            std::move(record.reason),
                            nullptr,
                            share(record.ending)};
      if (record.last) added.last = std::make_shared<const AttemptSummary>(*std::move(record.last));
      ++detail.counts[static_cast<std::size_t>(record.state)];
      ++detail.records[static_cast<std::size_t>(record.state)];
      detail.completed += has_completed(added.ending) ? 1U : 0U;
    }
    return {};
  }

  Result<void> operator()(ImageAttempt& item) const {
    const auto job = cluster.jobs_.find(item.key.job);
    if (job == cluster.jobs_.end() || job->second.find_record(item.key.element) == nullptr) {
      return corrupt("attempt without its element");
    }
    if (item.state == AttemptState::kEnded || item.place.members.empty())
      return corrupt("bad attempt");
    if ((item.state == AttemptState::kStopping) != item.stopping.has_value())
      return corrupt("bad stop");
    Attempt attempt;
    attempt.key = item.key;
    attempt.state = item.state;
    attempt.started_at = item.started_at;
    attempt.started_wall = item.started_wall;
    attempt.launched_at = item.launched_at;
    attempt.launched_wall = item.launched_wall;
    attempt.launched = item.launched;
    if (!item.master_address.empty())
      attempt.address = cluster.addresses_.take(item.master_address);
    attempt.set_ports(std::move(item.ports));
    if (item.stopping) attempt.extras.own().stopping = std::move(item.stopping);
    attempt.requeue = item.requeue;
    attempt.limit_lowered = item.limit_lowered;
    if (item.stopping_at.us != 0) attempt.extras.own().stopping_at = item.stopping_at;
    attempt.place_digest = digest_of(item.place);
    attempt.place = std::make_shared<const Place>(std::move(item.place));
    return put_attempt(std::move(attempt), item.ends);
  }

  Result<void> put_attempt(Attempt attempt, const std::vector<ImageEnd>& ends) const {
    for (const ImageEnd& end : ends) {
      if (attempt.find_member(end.node) == nullptr)
        return corrupt("end of a node that is no member");
      attempt.extras.own().members_ended.emplace(end.node, end.record);
      attempt.extras.own().members_digest +=
          digest_of_member_end(attempt.key, end.node, end.record);
    }
    for (const Member& member : attempt.place->members) {
      if (cluster.nodes_.count(member.node) == 0) return corrupt("place on an unknown node");
      if (!insert_sorted(cluster.attempts_on_[member.node], attempt.key))
        return corrupt("member twice");
    }
    cluster.digest_ += digest_of_attempt(attempt) + attempt.extras->members_digest;
    const AttemptKey key = attempt.key;
    if (!cluster.attempts_.emplace(key, std::move(attempt)).second) return corrupt("attempt twice");
    return {};
  }

  Result<void> operator()(ImageRequest& item) const {
    const RecentRequest request{item.first, item.count, item.at};
    if (!cluster.requests_.emplace(item.id, request).second) return corrupt("request twice");
    cluster.requests_by_age_.emplace_back(item.at, item.id);
    cluster.digest_ += digest_of_request(item.id, request);
    return {};
  }

  Result<void> operator()(ImageForgotten& item) const {
    const ForgottenRun run{item.last, item.kind, item.hour};
    if (!cluster.forgotten_.emplace(item.first, run).second) return corrupt("forgotten jobs twice");
    cluster.digest_ += digest_of_forgotten(item.first, run);
    return {};
  }

  Result<void> operator()(ImageUsage& item) const {
    const UsageKey key{item.account, item.uid};
    if (item.buckets.empty() || cluster.usage_.count(key) != 0)
      return corrupt("usage twice or empty");
    Usage& usage = cluster.usage_[key];
    for (const ImageBucket& bucket : item.buckets) usage.put(bucket.hour, bucket.amount);
    cluster.digest_ += digest_of_usage(key, usage);
    return {};
  }

  Result<void> operator()(ImageRunTimes& item) const {
    if (item.ended.size() > kAgeBins || item.left.size() > kAgeBins ||
        item.likeness.level >= kLikenessLevels)
      return corrupt("bad run times");
    RunTimes times;
    std::copy(item.ended.begin(), item.ended.end(), times.ended.begin());
    std::copy(item.left.begin(), item.left.end(), times.left.begin());
    times.taught = item.taught;
    if (!cluster.run_times_.put(item.likeness, times))
      return corrupt("run times twice, or too many of them");
    return {};
  }

  Result<void> operator()(ImageReservation& item) const {
    Reservation& reservation = item.reservation;
    const bool is_sound = reservation.duration.us > 0 && reservation.every.us >= 0;
    if (!is_sound) return corrupt("reservation that lasts no time");
    cluster.digest_ += digest_of(reservation);
    const std::string name = reservation.name;
    if (!cluster.reservations_.emplace(name, std::move(reservation)).second)
      return corrupt("reservation twice");
    return {};
  }
  Result<void> operator()(ImagePromise& item) const {
    if (cluster.find_job(item.job) == nullptr || item.most < item.half ||
        !cluster.estimates_.put(item.job, {item.half, item.most}))
      return corrupt("bad estimate of a start");
    return {};
  }

  Result<void> operator()(ImageEstimates& item) const {
    if (item.early.size() > kAgeBins || item.late.size() > kAgeBins)
      return corrupt("bad estimates of starts");
    EstimateTally tally;
    tally.half_held = item.half_held;
    tally.most_held = item.most_held;
    std::copy(item.early.begin(), item.early.end(), tally.early.begin());
    std::copy(item.late.begin(), item.late.end(), tally.late.begin());
    if (!cluster.estimates_.put(EstimateKey{item.day, item.queue}, tally))
      return corrupt("estimates of starts twice, or too many of them");
    return {};
  }

  Result<void> operator()(ImageRoom& item) const {
    const FreedRoom& room = item.room;
    const Job* job = cluster.find_job(room.job);
    if (job == nullptr || room.groups.size() != job->facts().terms->groups.size() ||
        job->state_of(room.element) != ElementState::kPending)
      return corrupt("room for no job that waits for it");
    cluster.digest_ += digest_of(room);
    if (!cluster.rooms_.emplace(room.key(), room).second) return corrupt("room twice");
    return {};
  }

  // What only all items together tell of a job.
  Result<void> close_job(Job& job) const {
    std::uint64_t elements = 0;
    for (std::size_t i = 0; i < kElementStates; ++i)
      elements += job.count(static_cast<ElementState>(i));
    if (elements != job.elements()) return corrupt("job with elements missing");
    if (job.is_ended() != (job.ended_seq().value != 0))
      return corrupt("job that ended and did not");
    JobChange(job, cluster.digest_).add_to_digest();
    const JobId id = job.facts().id;
    if (job.is_ended()) {
      cluster.jobs_ended_.emplace(job.ended_seq(), id);
    } else {
      ++cluster.unfinished_;
      ++cluster.unfinished_of_[job.facts().uid()];
    }
    return {};
  }
};

Result<void> ClusterImage::add(ImageItem item) {
  return std::visit(ImageBuilder{*this, cluster_}, item);
}

Result<Cluster> ClusterImage::finish(std::uint64_t digest) {
  const ImageBuilder builder{*this, cluster_};
  for (auto& [id, job] : cluster_.jobs_) {
    if (const Result<void> closed = builder.close_job(job); !closed) return closed.error();
  }
  if (cluster_.digest() != digest) {
    return ImageBuilder::corrupt("the digest of what it holds is another than the one it names");
  }
  return std::move(cluster_);
}

}  // namespace muster
