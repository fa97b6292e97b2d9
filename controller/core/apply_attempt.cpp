// Applying events about attempts.
#include <algorithm>

#include "base/types/digest.h"
#include "controller/core/cluster_apply.h"
#include "controller/core/job_change.h"

namespace muster {

std::uint64_t digest_of_attempt(const Attempt& attempt) {
  Digest digest;
  digest(1, "key", attempt.key);
  digest(2, "place", attempt.place_digest);
  digest(3, "state", attempt.state);
  digest(4, "started_at", attempt.started_at);
  digest(5, "started_wall", attempt.started_wall);
  digest(6, "launched_at", attempt.launched_at);
  digest(7, "launched_wall", attempt.launched_wall);
  digest(8, "launched", attempt.launched);
  digest(9, "master_address", attempt.master_address());
  digest(10, "ports", attempt.ports());
  digest(11, "stopping", attempt.stopping());
  digest(12, "requeue", attempt.requeue);
  if (attempt.limit_lowered) digest(13, "limit_lowered", attempt.limit_lowered);
  if (attempt.stopping_at().us != 0) digest(14, "stopping_at", attempt.stopping_at());
  return digest.value();
}

std::uint64_t digest_of_member_end(const AttemptKey& key, NodeId node, const ExitRecord& record) {
  return combine64(combine64(digest_of(key), node.value), digest_of(record));
}

bool insert_sorted(std::vector<AttemptKey>& keys, const AttemptKey& key) {
  constexpr std::size_t kGrowth = 4;  // Nodes are many: no doubling.
  const auto at = std::lower_bound(keys.begin(), keys.end(), key);
  if (at != keys.end() && *at == key) return false;
  const auto place = at - keys.begin();
  if (keys.size() == keys.capacity()) keys.reserve(keys.size() + kGrowth);
  keys.insert(keys.begin() + place, key);
  return true;
}

Attempt& ClusterApply::attempt_must_exist(const AttemptKey& key) {
  const auto found = cluster.attempts_.find(key);
  MUSTER_ASSERT(found != cluster.attempts_.end());
  return found->second;
}

template <class Change>
void ClusterApply::change_attempt(Attempt& attempt, Change change) {
  const AttemptState before = attempt.state;
  cluster.digest_ -= digest_of_attempt(attempt);
  change(attempt);
  MUSTER_ASSERT(attempt.state == before || can_follow(before, attempt.state));
  cluster.digest_ += digest_of_attempt(attempt);
}

void ClusterApply::lower_limits(JobId job) {
  auto it = cluster.attempts_.lower_bound(AttemptKey{job, {}, {}});
  for (; it != cluster.attempts_.end() && it->first.job == job; ++it) {
    change_attempt(it->second, [](Attempt& attempt) { attempt.limit_lowered = true; });
  }
}

void ClusterApply::operator()(const AttemptStarted& event) {
  Job& job = job_must_exist(event.key.job);
  JobChange(job, cluster.digest_).touch(event.key.element, [&](ElementRecord& record) {
    MUSTER_ASSERT(record.state == ElementState::kPending);
    MUSTER_ASSERT(event.key.attempt.value == record.attempts + 1);
    record.state = ElementState::kActive;
    ++record.attempts;
    record.reason.clear();
  });
  drop_room(event.key.element_key());
  cluster.estimates_.started(event.key.job, {stamp.wall.us / days(1).us, job.facts().queue()},
                             stamp.at);
  const auto [it, is_new] = cluster.attempts_.try_emplace(event.key);
  MUSTER_ASSERT(is_new && !event.place.members.empty());
  Attempt& attempt = it->second;
  attempt.key = event.key;
  attempt.place = std::make_shared<const Place>(event.place);
  attempt.place_digest = digest_of(event.place);
  attempt.started_at = stamp.at;
  attempt.started_wall = stamp.wall;
  cluster.digest_ += digest_of_attempt(attempt);
  for (const Member& member : event.place.members) {
    MUSTER_ASSERT(cluster.nodes_.count(member.node) == 1);
    const bool once = insert_sorted(cluster.attempts_on_[member.node], event.key);
    MUSTER_ASSERT(once);
  }
}

void ClusterApply::operator()(const AttemptLaunched& event) {
  change_attempt(attempt_must_exist(event.key), [&](Attempt& attempt) {
    MUSTER_ASSERT(attempt.state == AttemptState::kPreparing);
    attempt.state = AttemptState::kRunning;
    attempt.launched = true;
    attempt.launched_at = stamp.at;
    attempt.launched_wall = stamp.wall;
    if (!event.master_address.empty())
      attempt.address = cluster.addresses_.take(event.master_address);
    attempt.set_ports(event.ports);
  });
}

void ClusterApply::operator()(const AttemptStopping& event) {
  change_attempt(attempt_must_exist(event.key), [&](Attempt& attempt) {
    attempt.state = AttemptState::kStopping;
    attempt.extras.own().stopping = event.cause;
    attempt.extras.own().stopping_at = event.at;
    attempt.requeue = event.requeue;
  });
}

void ClusterApply::operator()(const MemberEnded& event) {
  Attempt& attempt = attempt_must_exist(event.key);
  MUSTER_ASSERT(attempt.find_member(event.node) != nullptr);
  const bool is_new = attempt.extras.own().members_ended.emplace(event.node, event.record).second;
  MUSTER_ASSERT(is_new);
  const std::uint64_t digest = digest_of_member_end(event.key, event.node, event.record);
  attempt.extras.own().members_digest += digest;
  cluster.digest_ += digest;
}

std::uint64_t digest_of_usage(const UsageKey& key, const Usage& usage) {
  if (usage.buckets().empty()) return 0;
  std::uint64_t hash = combine64(digest_of(key.account), key.uid.value);
  for (const auto& [hour, amount] : usage.buckets())
    hash = combine64(combine64(hash, static_cast<std::uint64_t>(hour)), amount);
  return hash;
}

void ClusterApply::charge(const JobFacts& facts, const Attempt& attempt) {
  const std::uint64_t milli = charged_milli(cluster, facts, *attempt.place);
  if (!attempt.launched || milli == 0 || attempt.launched_at >= stamp.at) return;
  const UsageKey key{facts.account(), facts.uid()};
  Usage& usage = cluster.usage_[key];
  cluster.digest_ -= digest_of_usage(key, usage);
  usage.charge(attempt.launched_at, stamp.at, milli);
  cluster.digest_ += digest_of_usage(key, usage);
}

void ClusterApply::operator()(const UsageSet& event) {
  for (const UsageSetLine& line : event.lines) {
    const UsageKey key{line.account, line.uid};
    Usage& usage = cluster.usage_[key];
    cluster.digest_ -= digest_of_usage(key, usage);
    usage = {};
    usage.put(stamp.at.us / hours(1).us, line.amount);
    if (line.amount == 0) {
      cluster.usage_.erase(key);
      continue;
    }
    cluster.digest_ += digest_of_usage(key, usage);
  }
}

void ClusterApply::operator()(const AttemptEnded& event) {
  Attempt& attempt = attempt_must_exist(event.key);
  const JobFacts& facts = job_must_exist(event.key.job).facts();
  charge(facts, attempt);
  // What a person, a limit or a fault stopped would have run longer.
  static_assert(CauseKind::kCompleted < CauseKind::kOutOfMemory &&
                CauseKind::kExited < CauseKind::kOutOfMemory &&
                CauseKind::kSignalled < CauseKind::kOutOfMemory);
  const bool by_itself = event.cause.kind <= CauseKind::kOutOfMemory;
  if (attempt.launched) cluster.run_times_.teach(facts, event.charged, by_itself, stamp.seq);
  MUSTER_ASSERT(can_follow(attempt.state, AttemptState::kEnded) && attempt.all_ended());
  auto summary = std::make_shared<AttemptSummary>();
  summary->attempt = event.key.attempt;
  summary->cause = event.cause;
  for (const Member& member : attempt.place->members) summary->nodes.push_back(member.node);
  summary->started_wall = attempt.started_wall;
  summary->launched_wall = attempt.launched_wall;
  summary->ended_wall = stamp.wall;
  summary->charged = event.charged;
  summary->charged_before = job_must_exist(event.key.job).charged(event.key.element);
  JobChange(job_must_exist(event.key.job), cluster.digest_)
      .touch(event.key.element, [&](ElementRecord& record) { record.last = std::move(summary); });
  for (const Member& member : attempt.place->members) {
    const auto on = cluster.attempts_on_.find(member.node);
    auto& keys = on->second;
    keys.erase(std::lower_bound(keys.begin(), keys.end(), event.key));
    if (on->second.empty()) cluster.attempts_on_.erase(on);
  }
  cluster.digest_ -= digest_of_attempt(attempt) + attempt.extras->members_digest;
  if (attempt.address != nullptr) cluster.addresses_.drop(attempt.address);
  cluster.attempts_.erase(event.key);
}

}  // namespace muster
