// Keeping the newest look ahead, and saying it.
#include "controller/core/decide/estimate.h"

#include <algorithm>
#include <utility>

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

namespace {

std::uint32_t count_before(const Job& job, ElementState state, Element element) {
  std::uint32_t count = 0;
  for (const IndexRange& range : job.ranges_in(state)) {
    if (range.first >= element.value) break;
    const std::uint32_t last = std::min(range.last, element.value - 1);
    count += (last - range.first) / range.step + 1;
  }
  return count;
}

struct Point {
  std::int64_t before = 0;
  Instant half;
  Instant most;
};

// On the line through both.
StartEstimate between(JobId job, const Point& a, const Point& b, std::int64_t at) {
  const auto along = [&](Instant from, Instant to) {
    return from + Duration{(to - from).us / (b.before - a.before) * (at - a.before)};
  };
  return {job, along(a.half, b.half), along(a.most, b.most)};
}

}  // namespace

std::optional<StartEstimate> StartTable::find(const Job& job, Element element) const {
  const JobId id = job.facts().id;
  const StartEstimate* first = find(id);
  const std::optional<ElementState> state = job.state_of(element);
  const bool waits = state == ElementState::kPending ||
                     (state == ElementState::kWaiting && job.count(ElementState::kPending) == 0);
  if (first == nullptr || !waits) return std::nullopt;
  std::int64_t before = count_before(job, *state, element);
  auto it =
      std::lower_bound(elements.begin(), elements.end(), id,
                       [](const ElementStart& one, JobId wanted) { return one.job < wanted; });
  if (it != elements.end() && it->job == id)  // Those that have started since.
    before += std::max<std::int64_t>(std::int64_t{it->pending} - job.count(*state), 0);
  if (before == 0) return *first;
  std::optional<Point> last;
  Point point{0, first->half, first->most};
  for (; it != elements.end() && it->job == id; ++it) {
    last = std::exchange(point, Point{it->before, it->half, it->most});
    if (before <= point.before) break;
  }
  if (!last) return std::nullopt;
  return between(id, *last, point, before);
}

bool Estimates::is_due(const ForeDesk& desk, Instant now) const {
  if (run_ || has_news()) return true;
  const bool any = desk.board.line.jobs_waiting() != 0 || desk.board.gates.size() != 0;
  if (!any || now < rests_until_) return false;
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
    table_ = std::make_shared<const StartTable>(StartTable{
        run_->began_at(), run_->take_starts(), run_->take_elements(), run_->goes_by_limits()});
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

namespace {

// What an estimate counts on, and cannot know.
std::string assumed_words(const Job& job, const StartTable& table) {
  std::string text = table.by_limits ? "what runs goes on to its time limit"
                                     : "run times are as those of the past";
  const JobGate* gate = job.facts().gate.get();
  if (gate == nullptr || job.count(ElementState::kWaiting) == 0) return text;
  const std::vector<Condition>& conditions = gate->depends.conditions;
  if (conditions.empty()) return text;
  const bool must_succeed =
      std::any_of(conditions.begin(), conditions.end(), [](const Condition& condition) {
        return condition.kind == After::kOk || condition.kind == After::kCorr;
      });
  return text + (must_succeed ? ", the jobs it waits for start and succeed"
                              : ", the jobs it waits for start and end");
}

}  // namespace

void explain_start(Explanation& why, const Cluster& cluster, const StartTable& table,
                   ElementKey key, Instant now) {
  const Job* job = cluster.find_job(key.job);
  if (job == nullptr || why.reason == WaitReason::kNeverPossible ||
      why.reason == WaitReason::kDependencyNever)
    return;
  const std::optional<StartEstimate> start = table.find(*job, key.element);
  if (!start) return;
  why.start_half = std::max(start->half, now);
  why.start_most = std::max(start->most, now);
  why.sentence += "; " + start_words(*start, now) + ", if " + assumed_words(*job, table) +
                  " and nothing new comes before it";
  const EstimateSum sum = cluster.estimates().sum();
  if (sum.count == 0) return;
  why.sentence += "; our 9-of-10 estimates held in " +
                  std::to_string(sum.most_held * 100 / sum.count) + " % of the last " +
                  std::to_string(kEstimateDays) + " days (n=" + std::to_string(sum.count) + ")";
}

}  // namespace muster
