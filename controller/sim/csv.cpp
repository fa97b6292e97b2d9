// Reading traces.
#include "controller/sim/csv.h"

#include <charconv>
#include <fstream>

#include "base/types/text.h"

namespace muster {
namespace {

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields;
  while (fields.size() <= kTraceFieldsMax) {
    const std::size_t comma = line.find(',');
    fields.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return fields;
}

Result<std::string> read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kNotFound, path + ": cannot be read");
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  if (size < 0 || static_cast<std::uint64_t>(size) > kTraceBytesMax)
    return fail(ErrorCode::kInvalid, path + ": is no file of at most 1 GiB");
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return fail(ErrorCode::kNotFound, path + ": cannot be read");
  return text;
}

Result<void> check_width(const Csv& csv, const CsvRow& row) {
  if (row.fields.size() == csv.columns.size()) return {};
  return trace_error(csv.path, row.line,
                     std::to_string(row.fields.size()) + " fields where the header has " +
                         std::to_string(csv.columns.size()));
}

}  // namespace

Error trace_error(const std::string& path, std::uint32_t line, std::string_view text) {
  return fail(ErrorCode::kInvalid,
              path + ":" + std::to_string(line) + ": " + escape_for_terminal(text));
}

Result<Csv> read_csv(const std::string& path) {
  const Result<std::string> text = read_all(path);
  if (!text) return text.error();
  Csv csv;
  csv.path = path;
  std::uint32_t number = 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    ++number;
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() && rest.empty()) break;
    CsvRow row{number, split(line)};
    if (number == 1) {
      csv.columns = std::move(row.fields);
      continue;
    }
    if (const Result<void> checked = check_width(csv, row); !checked) return checked.error();
    csv.rows.push_back(std::move(row));
  }
  if (csv.rows.empty()) return trace_error(path, number + 1, "no rows behind the header");
  return csv;
}

Result<std::size_t> find_column(const Csv& csv, std::string_view name) {
  for (std::size_t i = 0; i < csv.columns.size(); ++i) {
    if (csv.columns[i] == name) return i;
  }
  return trace_error(csv.path, 1, "no column " + std::string(name));
}

Result<std::uint64_t> number_in(const Csv& csv, const CsvRow& row, std::size_t column,
                                std::uint64_t most) {
  const std::string& field = row.fields[column];
  if (field.empty()) return std::uint64_t{0};
  std::uint64_t value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error == std::errc{} && stop == end && value <= most) return value;
  return trace_error(csv.path, row.line,
                     csv.columns[column] + " is \"" + field + "\", not a whole number of at most " +
                         std::to_string(most));
}

}  // namespace muster
