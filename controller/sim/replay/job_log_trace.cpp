// Reading what PostgreSQL's COPY writes.
#include "controller/sim/replay/job_log_trace.h"

#include <algorithm>
#include <cmath>

#include "controller/sim/replay/trace_file.h"
#include "controller/sim/replay/trace_value.h"

namespace muster {
namespace {

constexpr char kWanted[] = "\\copy (select * from muster.job_log) to 'jobs.csv' csv header";
// Reads one field; what is left of line begins behind its comma.
Result<std::string> take_field(std::string_view& line, bool& more) {
  std::string field;
  if (line.starts_with('"')) {
    for (line.remove_prefix(1);; line.remove_prefix(1)) {
      const std::size_t quote = line.find('"');
      if (quote == std::string_view::npos) return bad_trace("a quote is not closed");
      field += line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (!line.starts_with('"')) break;
      field += '"';
    }
    if (!line.empty() && line.front() != ',') return bad_trace("text follows a closed quote");
  } else {
    const std::size_t comma = std::min(line.find(','), line.size());
    field = line.substr(0, comma);
    line.remove_prefix(comma);
  }
  more = !line.empty();
  if (more) line.remove_prefix(1);
  return field;
}

}  // namespace

Result<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields;
  for (bool more = true; more;) {
    Result<std::string> field = take_field(line, more);
    if (!field) return field.error();
    fields.push_back(*std::move(field));
  }
  return fields;
}

Result<JobLogColumns> JobLogColumns::from_header(const std::string& line) {
  const Result<std::vector<std::string>> names = csv_fields(line);
  if (!names) return names.error();
  JobLogColumns columns;
  columns.columns_ = names->size();
  columns.submitted_ = find_field(*names, "submitted");
  columns.run_ = find_field(*names, "run_seconds");
  columns.gpus_ = find_field(*names, "gpus");
  columns.user_ = find_field(*names, "user_name");
  columns.name_ = find_field(*names, "name");
  if (columns.submitted_ == kNoColumn || columns.run_ == kNoColumn || columns.gpus_ == kNoColumn)
    return bad_trace(
        std::string("the header must name submitted, run_seconds and gpus: psql -c \"") + kWanted +
        "\"");
  return columns;
}

Result<TraceRow> JobLogColumns::read(const std::string& line) const {
  Result<std::vector<std::string>> split = csv_fields(line);
  if (!split) return split.error();
  std::vector<std::string>& fields = *split;
  if (const Result<void> fits = check_width(fields, columns_); !fits) return fits.error();
  const Result<Instant> submitted =
      utc_by("%Y-%m-%d %H:%M:%S", fields[submitted_], "2026-09-01 07:01:55");
  if (!submitted) return bad_trace("submitted " + submitted.error().message);
  const auto run = number_as<double>(fields[run_]);
  if (!run || !(*run >= 0 && *run <= static_cast<double>(kTraceRunMax.seconds())))
    return bad_trace("run_seconds " + quoted_field(fields[run_]) +
                     " is not between 0 and 3650 days");
  const auto gpus = number_as<std::uint32_t>(fields[gpus_]);
  if (!gpus || *gpus > kTraceGpusMax)
    return bad_trace("gpus " + quoted_field(fields[gpus_]) + " is not between 0 and 100000");
  TraceRow row{*submitted, Duration{std::llround(*run * 1e6)}, *gpus, {}, {}};
  if (user_ != kNoColumn) row.user = std::move(fields[user_]);
  if (name_ != kNoColumn) row.name = std::move(fields[name_]);
  return row;
}

}  // namespace muster
