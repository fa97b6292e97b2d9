// Keeping the newest look ahead, and saying it.
#include "controller/core/decide/estimate.h"

#include <algorithm>

#include "base/types/text.h"

namespace muster {
namespace {

// As people say it: to two digits or so.
std::string about(Duration wait) {
  const std::int64_t all = std::max<std::int64_t>(wait.seconds(), 0);
  const auto rounded = [&](std::int64_t to) { return seconds((all + to / 2) / to * to); };
  if (all < 60) return "less than a minute";
  if (all < 3600) return to_text(rounded(60));
  if (all < 24 * 3600) return to_text(rounded(300));
  return to_text(rounded(3600));
}

bool is_untried(const Job& job) {
  if (job.is_array())
    return job.count(ElementState::kActive) == 0 && job.count(ElementState::kEnded) == 0;
  const ElementRecord* record = job.find_record(Element{});
  return record == nullptr || record->attempts == 0;
}

}  // namespace

const StartEstimate* StartTable::find(JobId job) const {
  const auto found =
      std::lower_bound(starts.begin(), starts.end(), job,
                       [](const StartEstimate& one, JobId wanted) { return one.job < wanted; });
  return found == starts.end() || found->job != job ? nullptr : &*found;
}

bool Estimates::is_due(const ForeDesk& desk, Instant now) const {
  if (run_ || has_news()) return true;
  if (desk.board.line.jobs_waiting() == 0 || now < rests_until_) return false;
  const bool is_new = jobs_to_ != desk.cluster.job_next();
  return now - ended_at_ >= (is_new ? kEstimateNewEvery : kEstimateEvery);
}

void Estimates::begin(const ForeDesk& desk, Instant now) {
  jobs_to_ = desk.cluster.job_next();
  run_.emplace(desk, now);
}

bool Estimates::advance(const ForeDesk& desk, Instant now, std::uint64_t work) {
  if (!run_) {
    if (!is_due(desk, now) || has_news()) return has_news();
    begin(desk, now);
    return true;
  }
  if (!run_->advance(desk, work)) return true;
  ended_at_ = now;
  rests_until_ = now + (now - run_->began_at()) * kEstimateRest;
  if (!run_->is_void()) {
    table_ = std::make_shared<const StartTable>(StartTable{run_->began_at(), run_->take_starts()});
    told_ = 0;
  }
  run_.reset();
  return has_news();
}

std::vector<StartEstimate> Estimates::take_news(const Cluster& cluster) {
  std::vector<StartEstimate> news;
  const std::size_t to = std::min(table_->starts.size(), told_ + kPromisesPerStepMax);
  for (; told_ < to; ++told_) {
    const StartEstimate& start = table_->starts[told_];
    const Job* job = cluster.find_job(start.job);
    if (job == nullptr || job->count(ElementState::kPending) == 0) continue;
    if (cluster.estimates().find(start.job) == nullptr && is_untried(*job)) news.push_back(start);
  }
  return news;
}

std::string start_words(const StartEstimate& start, Instant now) {
  if (start.most <= now) return "starts any moment now";
  std::string text = "starts in about " + about(start.half - now);
  if (start.half <= now) text = "may start any moment";
  if (start.most == start.half) return text;
  return text + " (one of two such estimates holds), in " + about(start.most - now) +
         " at the latest in 9 of 10 cases";
}

void explain_start(Explanation& why, const Cluster& cluster, const StartTable& table,
                   ElementKey key, Instant now) {
  const Job* job = cluster.find_job(key.job);
  const StartEstimate* start = table.find(key.job);
  if (job == nullptr || start == nullptr || why.reason == WaitReason::kNeverPossible) return;
  if (job->state_of(key.element) != ElementState::kPending) return;
  if (job->first_in(ElementState::kPending) != key.element) return;
  why.start_half = std::max(start->half, now);
  why.start_most = std::max(start->most, now);
  why.sentence += "; " + start_words(*start, now);
  const EstimateSum sum = cluster.estimates().sum();
  if (sum.count == 0) return;
  why.sentence += "; our 9-of-10 estimates held in " +
                  std::to_string(sum.most_held * 100 / sum.count) + " % of the last " +
                  std::to_string(kEstimateDays) + " days (n=" + std::to_string(sum.count) + ")";
}

}  // namespace muster
