// Tables for people: columns as wide as they need to be, narrower or left out where the terminal is
// too narrow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submit/cli/terminal.h"

namespace muster {

enum class Align : std::uint8_t { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  std::size_t narrow = 0;  // May be cut to this many columns, with "…"; 0: never cut.
  unsigned leave_out = 0;  // Left out of a narrow terminal, the highest number first; 0: never.
};

enum class Colour : std::uint8_t { kNone, kGreen, kYellow, kRed, kFaint };

struct Cell {
  Cell(std::string content, Colour tint = Colour::kNone) : text(std::move(content)), colour(tint) {}
  Cell(const char* content) : text(content) {}
  std::string text;
  Colour colour = Colour::kNone;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns. Text of others is made harmless here.
  void add(std::vector<Cell> cells);
  // The same without copies, for long lists.
  template <class... Contents>
  void add_row(Contents&&... contents) {
    std::vector<Cell> cells;
    cells.reserve(sizeof...(contents));
    (cells.emplace_back(std::forward<Contents>(contents)), ...);
    add(std::move(cells));
  }
  bool empty() const { return rows_.empty(); }

  // Title line, then the rows, each with a newline and without spaces at its end.
  std::string render(const Terminal& terminal) const;

 private:
  std::vector<std::size_t> fit(std::size_t width) const;  // 0: left out.

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Text in a colour when the terminal shows it.
std::string in_colour(std::string_view text, Colour colour, const Terminal& terminal);

// text cut to width columns, with "…" as the last when something is missing.
std::string cut_to_width(std::string_view text, std::size_t width);

}  // namespace muster
