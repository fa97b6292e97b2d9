// Reading traces line by line.
#include "controller/sim/replay/trace_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "base/types/text.h"
#include "controller/sim/replay/job_log_trace.h"
#include "controller/sim/replay/sacct_trace.h"
#include "controller/sim/replay/trace_value.h"

namespace muster {
namespace {

constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kOwnersMax = 100'000;
constexpr std::size_t kSwfFields = 18;

std::optional<double> number_in(const std::string& text) {
  const auto value = number_as<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Result<Duration> run_in(const std::string& text) {
  const std::optional<double> value = number_in(text);
  if (!value)
    return bad_trace("the run time " + quoted_field(text) + " is not a number of seconds");
  if (*value < 0 || *value > static_cast<double>(kTraceRunMax.seconds()))
    return bad_trace("the run time " + quoted_field(text) + " is not between 0 and 3650 days");
  return Duration{std::llround(*value * 1e6)};
}

Result<std::uint32_t> gpus_in(const std::string& text) {
  const std::optional<double> value = number_in(text);
  if (!value || *value < 0 || *value > kTraceGpusMax || *value != std::floor(*value))
    return bad_trace(quoted_field(text) + " is not a number of GPUs");
  return static_cast<std::uint32_t>(*value);
}

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream rest(line);
  for (std::string column; std::getline(rest, column, ',');) columns.push_back(column);
  if (line.ends_with(',')) columns.emplace_back();
  return columns;
}

class Reader {
 public:
  Reader(std::string path, TraceFormat format) : path_(std::move(path)), format_(format) {}

  Result<std::vector<TraceJob>> read() {
    std::ifstream file(path_);
    if (!file) return fail(ErrorCode::kNotFound, path_ + ": cannot be read");
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const Result<void> taken = take(line, number);
      if (!taken)
        return bad_trace(path_ + ":" + std::to_string(number) + ": " + taken.error().message);
    }
    if (file.bad()) return fail(ErrorCode::kUnavailable, path_ + ": reading failed");
    return std::move(jobs_);
  }

 private:
  Result<void> take(const std::string& line, std::size_t number) {
    if (line.size() > kLineBytesMax) return bad_trace("the line is longer than 4096 bytes");
    if (line.empty()) return {};
    if (jobs_.size() == kTraceJobsMax) return bad_trace("more than 10000000 jobs");
    if (format_ == TraceFormat::kSwf) return line[0] == ';' ? Result<void>() : take_swf(line);
    if (format_ == TraceFormat::kSacct) return number == 1 ? take_header(line) : take_sacct(line);
    if (format_ == TraceFormat::kMuster) return number == 1 ? take_names(line) : take_logged(line);
    if (number > 1) return take_philly(line);
    return line.starts_with("timestamp,") ? Result<void>()
                                          : bad_trace("the header timestamp,… is missing");
  }

  Result<void> take_philly(const std::string& line) {
    const std::vector<std::string> fields = columns_of(line);
    if (fields.size() != 5)
      return bad_trace("5 columns are expected, here are " + std::to_string(fields.size()));
    const Result<Instant> submitted = utc_by("%Y-%m-%d %H:%M:%S", fields[0], "2017-10-09 07:01:55");
    if (!submitted) return submitted.error();
    return add(*submitted, fields[1], fields[2], fields[4]);
  }

  Result<void> take_swf(const std::string& line) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.empty()) return {};
    if (fields.size() != kSwfFields)
      return bad_trace("18 fields are expected, here are " + std::to_string(fields.size()));
    const std::optional<double> submitted = number_in(fields[1]);
    if (!submitted || std::abs(*submitted) > 1e11)
      return bad_trace("the submit time " + quoted_field(fields[1]) +
                       " is not a number of seconds");
    const std::string& processors = fields[4].starts_with('-') ? fields[7] : fields[4];
    if (fields[3].starts_with('-') || processors.starts_with('-')) return {};  // It never ran.
    return add(Instant{std::llround(*submitted * 1e6)}, fields[3], processors, fields[11]);
  }

  Result<void> take_header(const std::string& line) {
    Result<SacctColumns> columns = SacctColumns::from_header(line);
    if (!columns) return columns.error();
    sacct_ = *std::move(columns);
    return {};
  }

  Result<void> take_sacct(const std::string& line) {
    Result<std::optional<TraceRow>> row = sacct_.read(line);
    if (!row) return row.error();
    return *row ? add(**row) : Result<void>();
  }

  Result<void> take_names(const std::string& line) {
    Result<JobLogColumns> columns = JobLogColumns::from_header(line);
    if (!columns) return columns.error();
    log_ = *std::move(columns);
    return {};
  }

  Result<void> take_logged(const std::string& line) {
    const Result<TraceRow> row = log_.read(line);
    return row ? add(*row) : Result<void>(row.error());
  }

  Result<void> add(const TraceRow& row) {
    if (row.run > kTraceRunMax) return bad_trace("the job ran for more than 3650 days");
    const Result<std::uint32_t> owner = number_of(row.user);
    if (!owner) return owner.error();
    jobs_.push_back(TraceJob{row.submitted, row.run, row.gpus, *owner, name_of(row.name)});
    return {};
  }

  // As it may be submitted.
  static std::string name_of(const std::string& name) {
    return check_job_name(name) ? name : std::string();
  }

  Result<std::uint32_t> number_of(const std::string& owner) {
    const auto known = owners_.try_emplace(owner, static_cast<std::uint32_t>(owners_.size()));
    if (owners_.size() > kOwnersMax) return bad_trace("more than 100000 owners of jobs");
    return known.first->second;
  }

  Result<void> add(Instant submitted, const std::string& run_text, const std::string& gpus_text,
                   const std::string& owner) {
    const Result<Duration> run = run_in(run_text);
    if (!run) return run.error();
    const Result<std::uint32_t> gpus = gpus_in(gpus_text);
    if (!gpus) return gpus.error();
    return add(TraceRow{submitted, *run, *gpus, owner, {}});
  }

  std::string path_;
  TraceFormat format_;
  std::vector<TraceJob> jobs_;
  std::map<std::string, std::uint32_t> owners_;
  SacctColumns sacct_;
  JobLogColumns log_;
};

}  // namespace

std::optional<TraceFormat> trace_format_of(std::string_view name) {
  if (name == "philly") return TraceFormat::kPhilly;
  if (name == "swf") return TraceFormat::kSwf;
  if (name == "sacct") return TraceFormat::kSacct;
  if (name == "muster") return TraceFormat::kMuster;
  return std::nullopt;
}

Result<std::vector<TraceJob>> read_trace(const std::string& path, TraceFormat format,
                                         const TraceWindow& window) {
  Result<std::vector<TraceJob>> all = Reader(path, format).read();
  if (!all) return all.error();
  Instant first{INT64_MAX};
  for (const TraceJob& job : *all) first = std::min(first, job.submitted);
  const Instant from = first + window.from;
  std::vector<TraceJob> jobs;
  for (TraceJob job : *all) {
    const bool within = job.submitted >= from && job.submitted < from + window.length;
    if (!within || job.gpus == 0 || job.gpus > window.gpus_max) continue;
    job.submitted = Instant{} + (job.submitted - from);
    jobs.push_back(job);
  }
  if (jobs.empty())
    return fail(ErrorCode::kNotFound, path + ": no job of at most " +
                                          std::to_string(window.gpus_max) +
                                          " GPUs was submitted in that window");
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  return jobs;
}

}  // namespace muster
