// The turns of jobs on the screen.
#include "submit/cli/job_print.h"

namespace muster {
namespace {

// "123.4", of thousandths.
std::string tenths_text(std::int64_t milli) {
  const std::int64_t tenths = (milli < 0 ? milli - 50 : milli + 50) / 100;
  const std::int64_t size = tenths < 0 ? -tenths : tenths;
  return (tenths < 0 ? "-" : "") + std::to_string(size / 10) + "." + std::to_string(size % 10);
}

std::string points_text(std::uint32_t weight, std::uint32_t factor_ppm) {
  return tenths_text(std::int64_t{weight} * factor_ppm / 1000);
}

}  // namespace

std::string turns_table(const TurnsReply& turns, const Terminal& terminal) {
  Table table({{"JOB"},
               {"USER", Align::kLeft, 4},
               {"ACCOUNT", Align::kLeft, 4, 2},
               {"QUEUE", Align::kLeft, 5, 1},
               {"QUEUE PRIO", Align::kRight},
               {"POINTS", Align::kRight},
               {"OWN", Align::kRight},
               {"QOS", Align::kRight},
               {"NICE", Align::kRight},
               {"AGE", Align::kRight},
               {"FAIR SHARE", Align::kRight},
               {"SIZE", Align::kRight}});
  for (const TurnRow& row : turns.rows) {
    table.add({std::to_string(row.job.value), row.user, row.account, row.queue,
               std::to_string(row.queue_priority), tenths_text(row.points_milli),
               std::to_string(row.priority), std::to_string(row.qos_points),
               std::to_string(-row.nice), points_text(turns.age_weight, row.age_ppm),
               points_text(turns.fair_share_weight, row.fair_share_ppm),
               points_text(turns.size_weight, row.size_ppm)});
  }
  return table.render(terminal);
}

}  // namespace muster
