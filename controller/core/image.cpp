// Taking a cluster apart.
#include "controller/core/image.h"

namespace muster {
namespace {

std::optional<Ending> copy_of(const std::shared_ptr<const Ending>& ending) {
  return ending ? std::optional<Ending>(*ending) : std::nullopt;
}

ImageRecord image_of(Element element, const ElementRecord& record) {
  ImageRecord image;
  image.element = element;
  image.state = record.state;
  image.attempts = record.attempts;
  image.retries = record.retries;
  image.not_before = record.not_before;
  image.nodes_avoided = record.nodes_avoided;
  image.reason = record.reason;
  if (record.last) image.last = *record.last;
  image.ending = copy_of(record.ending);
  return image;
}

ImageJob image_of(const Job& job, std::uint32_t owner, std::uint32_t terms) {
  const JobFacts& facts = job.facts();
  ImageJob image;
  image.id = facts.id;
  image.request = facts.request;
  image.request_index = facts.request_index;
  image.name = facts.name;
  image.owner = owner;
  image.terms = terms;
  image.launch = facts.launch;
  image.script = facts.script;
  image.environment = facts.environment;
  image.submitted_at = facts.submitted_at;
  image.submitted_wall = facts.submitted_wall;
  image.top = job.top();
  image.held_by_operator = job.is_held_by_operator();
  if (facts.gate) image.gate = *facts.gate;
  for (const ElementSpan& span : job.spans()) {
    image.spans.push_back({span.first, span.last, span.state, copy_of(span.ending)});
  }
  image.ended_seq = job.ended_seq();
  image.ended_at = job.ended_at();
  return image;
}

ImageAttempt image_of(const Attempt& attempt) {
  ImageAttempt image;
  image.key = attempt.key;
  image.place = *attempt.place;
  image.state = attempt.state;
  image.started_at = attempt.started_at;
  image.started_wall = attempt.started_wall;
  image.launched_at = attempt.launched_at;
  image.launched_wall = attempt.launched_wall;
  image.launched = attempt.launched;
  image.master_address = attempt.master_address();
  image.ports = attempt.ports();
  image.stopping = attempt.stopping();
  image.requeue = attempt.requeue;
  image.limit_lowered = attempt.limit_lowered;
  image.stopping_at = attempt.stopping_at();
  for (const auto& [node, record] : attempt.members_ended()) image.ends.push_back({node, record});
  return image;
}

// Gives a shared value its number, the first time with its item.
template <class Item, class T>
std::uint32_t number_of(const std::shared_ptr<const T>& value,
                        std::map<std::shared_ptr<const T>, std::uint32_t>& numbers,
                        const ClusterImage::Sink& sink) {
  const auto [it, is_new] = numbers.try_emplace(value, static_cast<std::uint32_t>(numbers.size()));
  if (is_new) sink(Item{*value});
  return it->second;
}

void touched_of(JobId id, const Job& job, const ClusterImage::Sink& sink) {
  ImageTouched part{id, {}};
  job.touched().for_each({}, [&](Element element, const ElementRecord& record) {
    part.records.push_back(image_of(element, record));
    if (part.records.size() < kTouchedPerItemMax) return true;
    sink(part);
    part.records.clear();
    return true;
  });
  if (!part.records.empty()) sink(std::move(part));
}

std::vector<std::uint32_t> image_of(const AgeBins& bins) {
  std::vector<std::uint32_t> image(bins.begin(), bins.end());
  while (!image.empty() && image.back() == 0) image.pop_back();
  return image;
}

void ended_of(JobId id, const Job& job, const ClusterImage::Sink& sink) {
  ImageEndedElements part{id, {}, {}};
  std::map<std::shared_ptr<const EndKind>, std::uint32_t> kinds;
  const auto flush = [&] {
    if (!part.elements.empty()) sink(part);
    part.kinds.clear();
    part.elements.clear();
    kinds.clear();
  };
  job.touched().for_each_ended({}, [&](Element element, const EndedElement& ended) {
    const auto [kind, is_new] =
        kinds.try_emplace(ended.kind, static_cast<std::uint32_t>(kinds.size()));
    if (is_new) part.kinds.push_back(*ended.kind);
    part.elements.push_back({element, kind->second, ended.at, ended.wall, ended.launched_wall,
                             ended.charged, ended.attempts});
    if (part.elements.size() == kTouchedPerItemMax) flush();
    return true;
  });
  flush();
}

}  // namespace

void ClusterImage::take_apart(const Cluster& cluster, WallTime wall, const Sink& sink) {
  sink(ImageHead{cluster.epoch_, cluster.cluster_id_, cluster.applied_at_, wall, cluster.job_next_,
                 cluster.node_next_, *cluster.config_});
  for (const auto& [id, node] : cluster.nodes_) sink(ImageNode{node});
  for (const Device& device : cluster.devices_)
    sink(ImageDevice{device.id, device.uuid, device.node});
  std::map<std::shared_ptr<const JobOwner>, std::uint32_t> owners;
  std::map<std::shared_ptr<const JobTerms>, std::uint32_t> terms;
  for (const auto& [id, job] : cluster.jobs_) {
    const std::uint32_t owner = number_of<ImageOwner>(job.facts().owner, owners, sink);
    const std::uint32_t term = number_of<ImageTerms>(job.facts().terms, terms, sink);
    sink(image_of(job, owner, term));
    touched_of(id, job, sink);
    ended_of(id, job, sink);
  }
  for (const auto& [key, attempt] : cluster.attempts_) sink(image_of(attempt));
  for (const auto& [at, id] : cluster.requests_by_age_) {
    const auto found = cluster.requests_.find(id);
    if (found == cluster.requests_.end() || found->second.at != at) continue;
    sink(ImageRequest{id, found->second.first, found->second.count, at});
  }
  for (const auto& [first, run] : cluster.forgotten_) {
    sink(ImageForgotten{first, run.last, run.kind, run.hour});
  }
  for (const auto& [key, usage] : cluster.usage_) {
    ImageUsage image{key.account, key.uid, {}};
    for (const auto& [hour, amount] : usage.buckets()) image.buckets.push_back({hour, amount});
    sink(std::move(image));
  }
  for (const auto& [likeness, times] : cluster.run_times_.rows())
    sink(ImageRunTimes{likeness, image_of(times.ended), image_of(times.left), times.taught});
  for (const auto& [name, reservation] : cluster.reservations_) sink(ImageReservation{reservation});
  for (const auto& [job, said] : cluster.estimates_.promises())
    sink(ImagePromise{job, said.half, said.most});
  for (const auto& [key, tally] : cluster.estimates_.tallies()) {
    sink(ImageEstimates{key.day, key.queue, tally.half_held, tally.most_held, image_of(tally.early),
                        image_of(tally.late)});
  }
  for (const auto& [element, room] : cluster.rooms_) sink(ImageRoom{room});
}

}  // namespace muster
