// Reading what PostgreSQL's COPY writes.
#include "controller/sim/replay/job_log_trace.h"

#include <charconv>
#include <cmath>
#include <ctime>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr char kWanted[] = "\\copy (select * from muster.job_log) to 'jobs.csv' csv header";
constexpr std::uint32_t kGpusMax = 100'000;  // Of one job.
constexpr double kRunSecondsMax = 3650.0 * 86400;

Error bad(const std::string& message) { return fail(ErrorCode::kInvalid, message); }

std::string quoted(const std::string& text) { return "'" + escape_for_terminal(text) + "'"; }

template <class T>
bool whole(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Result<Instant> time_in(const std::string& text) {
  std::tm when{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &when);
  if (rest == nullptr || *rest != '\0')
    return bad("submitted " + quoted(text) + " is not a time such as 2026-09-01 07:01:55");
  return Instant{std::int64_t{timegm(&when)} * 1'000'000};
}

// Reads one field; what is left of line begins behind its comma.
Result<std::string> take_field(std::string_view& line, bool& more) {
  std::string field;
  if (line.starts_with('"')) {
    for (line.remove_prefix(1);; line.remove_prefix(1)) {
      const std::size_t quote = line.find('"');
      if (quote == std::string_view::npos) return bad("a quote is not closed");
      field += line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (!line.starts_with('"')) break;
      field += '"';
    }
    if (!line.empty() && line.front() != ',') return bad("text follows a closed quote");
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
  const auto find = [&](const char* wanted) {
    for (std::size_t i = 0; i < names->size(); ++i) {
      if ((*names)[i] == wanted) return i;
    }
    return kNone;
  };
  columns.submitted_ = find("submitted");
  columns.run_ = find("run_seconds");
  columns.gpus_ = find("gpus");
  columns.user_ = find("user_name");
  columns.name_ = find("name");
  if (columns.submitted_ == kNone || columns.run_ == kNone || columns.gpus_ == kNone)
    return bad(std::string("the header must name submitted, run_seconds and gpus: psql -c \"") +
               kWanted + "\"");
  return columns;
}

Result<JobLogRow> JobLogColumns::read(const std::string& line) const {
  Result<std::vector<std::string>> split = csv_fields(line);
  if (!split) return split.error();
  std::vector<std::string>& fields = *split;
  if (fields.size() != columns_)
    return bad(std::to_string(columns_) + " fields are expected, here are " +
               std::to_string(fields.size()));
  const Result<Instant> submitted = time_in(fields[submitted_]);
  if (!submitted) return submitted.error();
  double run = 0;
  if (!whole(fields[run_], run) || !(run >= 0 && run <= kRunSecondsMax))
    return bad("run_seconds " + quoted(fields[run_]) + " is not between 0 and 3650 days");
  std::uint32_t gpus = 0;
  if (!whole(fields[gpus_], gpus) || gpus > kGpusMax)
    return bad("gpus " + quoted(fields[gpus_]) + " is not between 0 and 100000");
  JobLogRow row{*submitted, Duration{std::llround(run * 1e6)}, gpus, {}, {}};
  if (user_ != kNone) row.user = std::move(fields[user_]);
  if (name_ != kNone) row.name = std::move(fields[name_]);
  return row;
}

}  // namespace muster
