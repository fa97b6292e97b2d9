// Muster's own jobs, exported from PostgreSQL: the view muster.job_log as csv with a header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "controller/sim/replay/trace_value.h"

namespace muster {

class JobLogColumns {
 public:
  // From the header. submitted, run_seconds and gpus are needed; user_name and name are used, all
  // others passed over, in any order.
  static Result<JobLogColumns> from_header(const std::string& line);
  // An element that ran and has ended; `run` is of all its attempts.
  Result<TraceRow> read(const std::string& line) const;

 private:
  std::size_t columns_ = 0;
  std::size_t submitted_ = kNoColumn;
  std::size_t run_ = kNoColumn;
  std::size_t gpus_ = kNoColumn;
  std::size_t user_ = kNoColumn;
  std::size_t name_ = kNoColumn;
};

// The fields of one line of csv (RFC 4180; no field goes over the end of a line). kInvalid when a
// quote is not closed or text follows it.
Result<std::vector<std::string>> csv_fields(std::string_view line);

}  // namespace muster
