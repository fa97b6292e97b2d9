// Joining rows with estimates.
#include "controller/host/start_times.h"

#include <algorithm>
#include <set>

namespace muster {

void fill_starts(std::vector<JobRow>& rows, const ViewState& state, const StartTable& table,
                 Now now) {
  if (table.starts.empty()) return;
  const auto wall = [&](Instant at) {
    return WallTime{now.wall.us + std::max((at - now.at).us, std::int64_t{0})};
  };
  for (JobRow& row : rows) {
    if (row.state != JobState::kPending) continue;
    if (table.find(row.job) == nullptr) continue;
    const JobView* view = state.jobs.find(row.job.value);
    const auto start = view == nullptr ? std::nullopt : table.find(view->job, row.element);
    if (!start) continue;
    row.start_p50 = wall(start->half);
    row.start_p90 = wall(start->most);
  }
}

EstimatesReply estimates_reply(const EstimateBook& book, const StartTable& table) {
  EstimatesReply reply;
  reply.days = static_cast<std::uint32_t>(kEstimateDays);
  reply.jobs_told = table.starts.size();
  const auto add = [&](const std::string& queue) {
    const EstimateSum sum = book.sum(queue);
    EstimateLine line;
    line.queue = queue;
    line.jobs = sum.count;
    line.p50_held = sum.half_held;
    line.p90_held = sum.most_held;
    line.late = sum.late_count();
    line.error_median = sum.error_median();
    if (sum.count != 0) line.p90_held_ppm = sum.most_held * 1'000'000 / sum.count;
    reply.rows.push_back(std::move(line));
  };
  add("");
  std::set<std::string> queues;
  for (const auto& [key, tally] : book.tallies()) queues.insert(key.queue);
  for (const std::string& queue : queues) add(queue);
  return reply;
}

}  // namespace muster
