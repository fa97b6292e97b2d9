// What else could be asked for.
#include "controller/core/decide/start_trial.h"

#include <algorithm>

#include "base/types/resources.h"
#include "controller/core/decide/admit.h"

namespace muster {
namespace {

enum Kind : std::uint32_t { kItself, kFewer, kTypes, kQueue, kShorter };

std::uint32_t gpus_of(const Group& group) { return group.nodes_min * group.gpus_per_node; }

Newcomer newcomer_of(const ForeDesk& desk, const Requester& who, const JobSpec& spec, Instant now) {
  auto facts = std::make_shared<JobFacts>();
  facts->id = desk.cluster.job_next();
  facts->name = spec.name;
  facts->owner =
      std::make_shared<const JobOwner>(JobOwner{who.uid, who.gid, who.user, {}, who.host});
  facts->terms = std::make_shared<const JobTerms>(terms_of(spec));
  facts->submitted_at = now;
  Newcomer newcomer;
  newcomer.facts = facts;
  const Job job(facts, ElementState::kPending);
  const QueueConfig* queue = desk.cluster.find_queue(spec.queue);
  const Rank rank = desk.board.order.rank(desk.cluster, job, now);
  newcomer.turn = {queue == nullptr ? 0 : -std::int64_t{queue->priority}, -rank.score, rank.length,
                   position_of(job), facts->id};
  return newcomer;
}

}  // namespace

StartTrial::StartTrial(const ForeDesk& desk, const Requester& who, const JobSpec& asked,
                       Instant now)
    : began_(now) {
  const Result<JobSpec> spec = admit(desk.cluster, desk.board.ledger, who, asked);
  if (!spec || spec->hold || gate_of(*spec).waits()) return;
  add(desk, who, *spec, {"", kItself});
  add_fewer(desk, who, *spec);
  add_types(desk, who, *spec);
  add_queues(desk, who, *spec);
  add_shorter(desk, who, *spec);
  if (!newcomers_.empty()) run_.emplace(desk, now, newcomers_);
}

void StartTrial::add(const ForeDesk& desk, const Requester& who, JobSpec spec,
                     const Alternative& as) {
  if (as_.size() == kAlternativesTriedMax) return;
  if (as.kind != kItself) {
    Result<JobSpec> fine = admit(desk.cluster, desk.board.ledger, who, spec);
    if (!fine) return;
    spec = *std::move(fine);
  }
  as_.push_back(as);
  newcomers_.push_back(newcomer_of(desk, who, spec, began_));
}

// Half as many, on half the nodes where there are several, and half of that.
void StartTrial::add_fewer(const ForeDesk& desk, const Requester& who, const JobSpec& spec) {
  if (spec.groups.size() != 1) return;
  JobSpec fewer = spec;
  Group& group = fewer.groups.front();
  if (group.gpus_per_node == 0) return;
  for (int times = 0; times < 3; ++times) {
    if (group.nodes_min > 1) {
      group.nodes_min = group.nodes_max = group.nodes_min / 2;
      add(desk, who, fewer, {"--nodes " + std::to_string(group.nodes_min), kFewer});
    } else if (group.gpus_per_node > 1 && group.tasks_per_node == 1) {
      group.gpus_per_node /= 2;
      add(desk, who, fewer, {"--gpus " + std::to_string(gpus_of(group)), kFewer});
    }
  }
}

void StartTrial::add_types(const ForeDesk& desk, const Requester& who, const JobSpec& spec) {
  std::set<std::string> types;
  for (const NodeClass& node_class : desk.board.ledger.classes()) {
    for (const auto& [type, memory] : node_class.traits.gpus) types.insert(type);
  }
  for (const std::string& type : types) {
    JobSpec other = spec;
    bool is_new = false;
    for (Group& group : other.groups) {
      auto& wanted = group.gpu_types;
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), type) != wanted.end()) continue;
      wanted = {type};
      is_new = true;
    }
    if (is_new) add(desk, who, std::move(other), {"--gpu-type " + type, kTypes});
  }
}

void StartTrial::add_queues(const ForeDesk& desk, const Requester& who, const JobSpec& spec) {
  for (const QueueConfig& queue : desk.cluster.config().queues) {
    if (queue.name == spec.queue) continue;
    JobSpec other = spec;
    other.queue = queue.name;
    add(desk, who, std::move(other), {"--queue " + queue.name, kQueue});
  }
}

void StartTrial::add_shorter(const ForeDesk& desk, const Requester& who, const JobSpec& spec) {
  for (std::int64_t part = 2; part <= 8; part *= 2) {
    JobSpec shorter = spec;
    const std::int64_t limit = spec.time_limit.seconds() / part / 60;
    if (limit < 5) return;
    shorter.time_limit = minutes(limit);
    add(desk, who, std::move(shorter), {"--time " + to_text(minutes(limit)), kShorter});
  }
}

bool StartTrial::advance(const ForeDesk& desk, std::uint64_t work) {
  return !run_ || run_->advance(desk, work);
}

TrialAnswer StartTrial::answer() const {
  TrialAnswer answer;
  if (!has_answer()) return answer;
  const auto& starts = run_->newcomers();
  answer.start = starts.front();
  answer.fits_now = answer.start && answer.start->most <= began_;
  if (answer.fits_now) return answer;
  std::set<std::uint32_t> kinds;
  std::vector<std::pair<Instant, std::size_t>> order;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    if (!starts[i]) continue;
    if (answer.start) {
      const Duration wait = answer.start->half - began_;
      const Duration gain = answer.start->half - starts[i]->half;
      if (gain < kSoonerMin || gain * 10 < wait || starts[i]->most > answer.start->most) continue;
    }
    order.emplace_back(starts[i]->half, i);
  }
  // Of what starts equally soon, what changes least: it was added first.
  std::sort(order.begin(), order.end());
  for (const auto& [half, i] : order) {
    if (answer.sooner.size() == kAlternativesToldMax) break;
    if (kinds.insert(as_[i].kind).second) answer.sooner.push_back({as_[i].options, *starts[i]});
  }
  return answer;
}

}  // namespace muster
