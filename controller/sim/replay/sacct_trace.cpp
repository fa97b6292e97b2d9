// Reading what sacct prints.
#include "controller/sim/replay/sacct_trace.h"

#include <charconv>
#include <ctime>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr char kWanted[] =
    "sacct -aDP --parsable2 --format=JobID,JobName,User,Submit,ElapsedRaw,State,AllocTRES";
constexpr std::uint64_t kGpusMax = 100'000;  // Of one job.

Error bad(const std::string& message) { return fail(ErrorCode::kInvalid, message); }

std::string quoted(const std::string& text) { return "'" + escape_for_terminal(text) + "'"; }

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

template <class T>
std::optional<T> whole_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Instant> time_in(const std::string& text) {
  std::tm when{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &when);
  if (rest == nullptr || *rest != '\0')
    return bad(quoted(text) + " is not a time such as 2026-09-01T07:01:55");
  return Instant{std::int64_t{timegm(&when)} * 1'000'000};
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
    const auto count = whole_in<std::uint32_t>(entry.substr(entry.find_last_of('=') + 1));
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
    const auto count = whole_in<std::uint16_t>(rest.substr(0, dash));
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
    const auto part = whole_in<std::uint16_t>(rest.substr(0, colon));
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
  const auto find = [&](const char* wanted) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == wanted) return i;
    }
    return kNone;
  };
  columns.id_ = find("JobID");
  columns.submit_ = find("Submit");
  columns.state_ = find("State");
  columns.elapsed_ = find("Elapsed");
  columns.elapsed_raw_ = find("ElapsedRaw");
  columns.allocated_ = find("AllocTRES");
  columns.requested_ = find("ReqTRES");
  columns.user_ = find("User");
  columns.name_ = find("JobName");
  const bool has_time = columns.elapsed_ != kNone || columns.elapsed_raw_ != kNone;
  const bool has_tres = columns.allocated_ != kNone || columns.requested_ != kNone;
  if (columns.id_ == kNone || columns.submit_ == kNone || !has_time || !has_tres)
    return bad(std::string("the header must name JobID, Submit, ElapsedRaw and AllocTRES: ") +
               kWanted);
  return columns;
}

const std::string* SacctColumns::field(const std::vector<std::string>& fields,
                                       std::size_t column) const {
  return column == kNone || fields[column].empty() ? nullptr : &fields[column];
}

Result<Duration> SacctColumns::run_of(const std::vector<std::string>& fields) const {
  if (const std::string* raw = field(fields, elapsed_raw_)) {
    if (const auto whole = whole_in<std::uint32_t>(*raw)) return seconds(*whole);
    return bad("ElapsedRaw " + quoted(*raw) + " is not a number of seconds");
  }
  const std::string* text = field(fields, elapsed_);
  if (text == nullptr) return Duration{};
  if (const auto elapsed = elapsed_in(*text)) return *elapsed;
  return bad("Elapsed " + quoted(*text) + " is not a time such as 1-02:03:04");
}

Result<std::optional<SacctRow>> SacctColumns::read(const std::string& line) const {
  const std::vector<std::string> fields = fields_of(line);
  if (fields.size() != columns_)
    return bad(std::to_string(columns_) + " fields are expected, here are " +
               std::to_string(fields.size()));
  if (fields[id_].find('.') != std::string::npos) return std::optional<SacctRow>();  // A step.
  if (const std::string* state = field(fields, state_); state != nullptr && !has_ended(*state))
    return std::optional<SacctRow>();
  const Result<Duration> run = run_of(fields);
  if (!run) return run.error();
  if (run->us == 0) return std::optional<SacctRow>();
  const Result<Instant> submitted = time_in(fields[submit_]);
  if (!submitted) return submitted.error();
  const std::string* tres = field(fields, allocated_);
  if (tres == nullptr) tres = field(fields, requested_);
  const auto gpus = tres == nullptr ? std::uint64_t{0} : gpus_in_tres(*tres);
  if (!gpus || *gpus > kGpusMax)
    return bad(quoted(*tres) + " has no number of GPUs between 0 and 100000");
  SacctRow row{*submitted, *run, static_cast<std::uint32_t>(*gpus), {}, {}};
  if (const std::string* user = field(fields, user_)) row.user = *user;
  if (const std::string* name = field(fields, name_)) row.name = *name;
  return std::optional<SacctRow>(std::move(row));
}

}  // namespace muster
