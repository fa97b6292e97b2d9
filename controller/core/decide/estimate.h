// When pending jobs are likely to start: looks ahead (forerun) again and again, in slices between
// steps, and keeps the newest answer. Never journalled; a restart looks anew.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/core/decide/forerun.h"
#include "controller/core/verdict.h"

namespace muster {

constexpr std::uint64_t kEstimateWork = 4000;  // Of one slice: a step stays short.
constexpr Duration kEstimateEvery = seconds(30);
constexpr Duration kEstimateNewEvery = seconds(2);  // When there are new jobs.
constexpr std::int64_t kEstimateRest = 4;           // Times as long as it took, it rests.
constexpr std::size_t kPromisesPerStepMax = 1000;

// Immutable: readers in other threads keep it while the next one is made.
struct StartTable {
  Instant made_at;                     // What the estimates are as of.
  std::vector<StartEstimate> starts;   // By job; of arrays the first element that waits.
  std::vector<ElementStart> elements;  // By job and place. What is between them is in between.
  bool by_limits = true;               // What runs was taken to run to its time limit.
  const StartEstimate* find(JobId job) const;
  // Of an element that waits. Null: none is in sight.
  std::optional<StartEstimate> find(const Job& job, Element element) const;
};

class Estimates {
 public:
  Estimates() : table_(std::make_shared<const StartTable>()) {}
  bool is_due(const ForeDesk& desk, Instant now) const;
  void begin(const ForeDesk& desk, Instant now);
  // One slice; begins when it is due. True when another should follow.
  bool advance(const ForeDesk& desk, Instant now, std::uint64_t work);
  // Jobs of the newest answer of which nothing was said yet, some in each call. Empty: no more.
  std::vector<StartEstimate> take_news(const Cluster& cluster);
  bool has_news() const { return told_ < table_->starts.size(); }
  const std::shared_ptr<const StartTable>& table() const { return table_; }
  // What is known is of no use any more.
  void clear() { *this = Estimates(); }

 private:
  std::optional<ForeRun> run_;
  std::shared_ptr<const StartTable> table_;
  std::size_t told_ = 0;
  JobId jobs_to_;  // Submitted when the last one began.
  Instant rests_until_;
  Instant ended_at_;
};

// Adds when the job is likely to start, and how often we were right, to why it waits.
void explain_start(Explanation& why, const Cluster& cluster, const StartTable& table,
                   ElementKey key, Instant now);
// "starts in about 2h10m, by 5h in 9 of 10 cases".
std::string start_words(const StartEstimate& start, Instant now);

}  // namespace muster
