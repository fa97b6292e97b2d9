// What standard output is: a terminal of some width, or a file or pipe that programs read.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

struct Terminal {
  bool is_tty = false;
  bool colour = false;    // A terminal, and NO_COLOR is not set.
  std::size_t width = 0;  // Columns; 0: no limit.
};

Terminal describe_stdout();

// Columns that text takes. text has passed escape_for_terminal().
std::size_t display_width(std::string_view text);

// Writes all of it; a reader that went away ends the process quietly, any other failure with a
// message.
void print(std::string_view text);
void print_error(std::string_view line);  // To standard error, with a newline, escaped.

}  // namespace muster
