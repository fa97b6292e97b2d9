// Comma-separated traces: every row with the line that it stood on, so that a complaint can name
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

constexpr std::size_t kTraceBytesMax = std::size_t{1} << 30U;
constexpr std::size_t kTraceFieldsMax = 256;  // Of one line.

struct CsvRow {
  std::uint32_t line = 0;  // The header is line 1.
  std::vector<std::string> fields;
};

struct Csv {
  std::string path;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;  // Each has as many fields as there are columns.
};

// One line for people: "FILE:LINE: text".
Error trace_error(const std::string& path, std::uint32_t line, std::string_view text);

// The whole file. Fields are not quoted; empty lines at the end are passed over. kNotFound when it
// cannot be read, kInvalid with file and line when a row has too few or too many fields.
Result<Csv> read_csv(const std::string& path);

// The index of a column by its name in the header.
Result<std::size_t> find_column(const Csv& csv, std::string_view name);

// A whole number of at most `most`; an empty field is 0.
Result<std::uint64_t> number_in(const Csv& csv, const CsvRow& row, std::size_t column,
                                std::uint64_t most);

}  // namespace muster
