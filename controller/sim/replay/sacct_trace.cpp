// Reading what sacct prints.
#include "controller/sim/replay/sacct_trace.h"

#include <algorithm>

#include "controller/sim/replay/trace_file.h"
#include "controller/sim/replay/trace_value.h"

namespace muster {
namespace {

constexpr char kWanted[] =
    "sacct -aDP --parsable2 --format=JobID,JobName,User,Submit,ElapsedRaw,State,AllocTRES";

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields{""};
  for (const char c : line) {
    if (c == '|')
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

// "PENDING", "RUNNING", "CANCELLED by 1000", …
bool has_ended(const std::string& state) {
  for (const char* open : {"PENDING", "RUNNING", "REQUEUED", "SUSPENDED", "RESIZING"}) {
    if (state.starts_with(open)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> gpus_in_tres(const std::string& tres) {
  std::uint64_t typed = 0;
  for (std::size_t at = 0; at < tres.size();) {
    const std::size_t end = std::min(tres.find(',', at), tres.size());
    const std::string_view entry = std::string_view(tres).substr(at, end - at);
    at = end + 1;
    if (!entry.starts_with("gres/gpu") || entry.size() < 10) continue;
    if (entry[8] != '=' && entry[8] != ':') continue;
    const auto count = number_as<std::uint32_t>(entry.substr(entry.find_last_of('=') + 1));
    if (!count) return std::nullopt;
    if (entry[8] == '=') return *count;
    typed += *count;
  }
  return typed;
}

std::optional<Duration> elapsed_in(const std::string& text) {
  std::string_view rest = text;
  std::int64_t days_before = 0;
  if (const std::size_t dash = rest.find('-'); dash != std::string_view::npos) {
    const auto count = number_as<std::uint16_t>(rest.substr(0, dash));
    if (!count) return std::nullopt;
    days_before = *count;
    rest.remove_prefix(dash + 1);
  }
  if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos)
    rest = rest.substr(0, dot);
  std::int64_t sum = 0;
  int parts = 0;
  for (;; ++parts) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const auto part = number_as<std::uint16_t>(rest.substr(0, colon));
    if (!part || parts == 3) return std::nullopt;
    sum = sum * 60 + *part;
    if (colon == rest.size()) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts == 0) return std::nullopt;
  return days(days_before) + seconds(sum);
}

Result<SacctColumns> SacctColumns::from_header(const std::string& line) {
  SacctColumns columns;
  const std::vector<std::string> names = fields_of(line);
  columns.columns_ = names.size();
  columns.id_ = find_field(names, "JobID");
  columns.submit_ = find_field(names, "Submit");
  columns.state_ = find_field(names, "State");
  columns.elapsed_ = find_field(names, "Elapsed");
  columns.elapsed_raw_ = find_field(names, "ElapsedRaw");
  columns.allocated_ = find_field(names, "AllocTRES");
  columns.requested_ = find_field(names, "ReqTRES");
  columns.user_ = find_field(names, "User");
  columns.name_ = find_field(names, "JobName");
  const bool has_time = columns.elapsed_ != kNoColumn || columns.elapsed_raw_ != kNoColumn;
  const bool has_tres = columns.allocated_ != kNoColumn || columns.requested_ != kNoColumn;
  if (columns.id_ == kNoColumn || columns.submit_ == kNoColumn || !has_time || !has_tres)
    return bad_trace(std::string("the header must name JobID, Submit, ElapsedRaw and AllocTRES: ") +
                     kWanted);
  return columns;
}

const std::string* SacctColumns::field(const std::vector<std::string>& fields,
                                       std::size_t column) const {
  return column == kNoColumn || fields[column].empty() ? nullptr : &fields[column];
}

Result<Duration> SacctColumns::run_of(const std::vector<std::string>& fields) const {
  if (const std::string* raw = field(fields, elapsed_raw_)) {
    if (const auto whole = number_as<std::uint32_t>(*raw)) return seconds(*whole);
    return bad_trace("ElapsedRaw " + quoted_field(*raw) + " is not a number of seconds");
  }
  const std::string* text = field(fields, elapsed_);
  if (text == nullptr) return Duration{};
  if (const auto elapsed = elapsed_in(*text)) return *elapsed;
  return bad_trace("Elapsed " + quoted_field(*text) + " is not a time such as 1-02:03:04");
}

Result<std::optional<TraceRow>> SacctColumns::read(const std::string& line) const {
  const std::vector<std::string> fields = fields_of(line);
  if (const Result<void> fits = check_width(fields, columns_); !fits) return fits.error();
  if (fields[id_].find('.') != std::string::npos) return std::optional<TraceRow>();  // A step.
  if (const std::string* state = field(fields, state_); state != nullptr && !has_ended(*state))
    return std::optional<TraceRow>();
  const Result<Duration> run = run_of(fields);
  if (!run) return run.error();
  if (run->us == 0) return std::optional<TraceRow>();
  const Result<Instant> submitted =
      utc_by("%Y-%m-%dT%H:%M:%S", fields[submit_], "2026-09-01T07:01:55");
  if (!submitted) return submitted.error();
  const std::string* tres = field(fields, allocated_);
  if (tres == nullptr) tres = field(fields, requested_);
  const auto gpus = tres == nullptr ? std::uint64_t{0} : gpus_in_tres(*tres);
  if (!gpus || *gpus > kTraceGpusMax)
    return bad_trace(quoted_field(*tres) + " has no number of GPUs between 0 and 100000");
  TraceRow row{*submitted, *run, static_cast<std::uint32_t>(*gpus), {}, {}};
  if (const std::string* user = field(fields, user_)) row.user = *user;
  if (const std::string* name = field(fields, name_)) row.name = *name;
  return std::optional<TraceRow>(std::move(row));
}

}  // namespace muster
