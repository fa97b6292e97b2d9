// Explanations, kept for a moment.
#include "controller/host/wait_reasons.h"

#include <algorithm>
#include <chrono>
#include <future>

namespace muster {

namespace {

constexpr std::size_t kKeptMax = 10000;
constexpr auto kPatience = std::chrono::milliseconds(200);

}  // namespace

bool WaitReasons::known(const Alike& alike, std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(alike);
  if (found == kept_.end() || found->second.until < boottime()) return false;
  reason = found->second.reason;
  return true;
}

void WaitReasons::fill(std::vector<JobRow>& rows, const ViewState& state) {
  const auto visit = [&](auto&& unknown) {
    for (JobRow& row : rows) {
      if (row.state != JobState::kPending || !row.reason.empty()) continue;
      const JobView* view = state.jobs.find(row.job.value);
      if (view == nullptr) continue;
      const Alike alike{view->job.facts().terms, view->job.facts().uid()};
      if (!known(alike, row.reason)) unknown(Asked{alike, {row.job, row.element}});
    }
  };
  std::vector<Asked> asked;
  visit([&](const Asked& one) {
    const bool listed = std::any_of(asked.begin(), asked.end(),
                                    [&](const Asked& other) { return other.alike == one.alike; });
    if (!listed && asked.size() < kReasonsPerLookMax) asked.push_back(one);
  });
  if (asked.empty()) return;
  ask(asked);
  visit([](const Asked&) {});
}

void WaitReasons::ask(const std::vector<Asked>& asked) {
  {
    const std::lock_guard lock(mutex_);
    const Instant now = boottime();
    if (now - looked_at_ < kReasonLookEvery) return;
    looked_at_ = now;
  }
  using Answers = std::vector<std::string>;
  auto answers = std::make_shared<std::promise<Answers>>();
  auto future = answers->get_future();
  const bool queued = engine_.look([asked, answers](const Engine& engine, Now now) {
    Answers found;
    for (const Asked& one : asked) {
      const auto explanation = engine.explain(one.key, now.at);
      found.emplace_back(explanation.has_value() ? name_of(explanation->reason) : "");
    }
    answers->set_value(std::move(found));
  });
  if (!queued || future.wait_for(kPatience) != std::future_status::ready) return;
  const Answers found = future.get();
  const std::lock_guard lock(mutex_);
  if (kept_.size() > kKeptMax) kept_.clear();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    kept_[asked[i].alike] = {found[i], boottime() + kReasonKept};
  }
}

}  // namespace muster
