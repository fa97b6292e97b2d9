// Lines of `sacct -aDP --parsable2`: what ran on a Slurm cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "controller/sim/replay/trace_value.h"

namespace muster {

class SacctColumns {
 public:
  // From the header. JobID, Submit, Elapsed or ElapsedRaw, and AllocTRES or ReqTRES are needed;
  // User and JobName are used, all others passed over, in any order.
  static Result<SacctColumns> from_header(const std::string& line);
  // A job, or one of its attempts: -D shows each on a line of its own. Times as Slurm wrote them:
  // local, taken for UTC. Null for steps and for what has not run or has not ended.
  Result<std::optional<TraceRow>> read(const std::string& line) const;

 private:
  const std::string* field(const std::vector<std::string>& fields, std::size_t column) const;
  Result<Duration> run_of(const std::vector<std::string>& fields) const;

  std::size_t columns_ = 0;
  std::size_t id_ = kNoColumn;
  std::size_t submit_ = kNoColumn;
  std::size_t state_ = kNoColumn;
  std::size_t elapsed_ = kNoColumn;
  std::size_t elapsed_raw_ = kNoColumn;
  std::size_t allocated_ = kNoColumn;
  std::size_t requested_ = kNoColumn;
  std::size_t user_ = kNoColumn;
  std::size_t name_ = kNoColumn;
};

// "billing=8,cpu=8,gres/gpu=2,mem=64G": 2. Without a total, the sum over types; nothing: 0. Null
// when a number is none.
std::optional<std::uint64_t> gpus_in_tres(const std::string& tres);
// "1-02:03:04", "02:03:04", "03:04" and "03:04.500". Null when it is none of these.
std::optional<Duration> elapsed_in(const std::string& text);

}  // namespace muster
