// Tables for people: columns as wide as they need to be, narrower or left out where the terminal is
// too narrow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
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
  explicit Table(std::vector<Column> columns);

  // As many cells as columns. Text of others is made harmless here.
  void add(const std::vector<Cell>& cells);
  // The same without a list, for long tables.
  template <class... Contents>
  void add_row(const Contents&... contents) {
    begin_row(sizeof...(contents));
    (add_cell(contents), ...);
  }
  bool empty() const { return cells_.empty(); }

  // Title line, then the rows, each with a newline and without spaces at its end.
  std::string render(const Terminal& terminal) const;

 private:
  // A text in texts_: ten thousand rows are a few pages of memory, not a string a cell.
  struct Kept {
    std::size_t begin = 0;
    std::uint32_t bytes = 0;
    std::uint16_t columns = 0;  // As shown; the largest number stands for all above it.
    Colour colour = Colour::kNone;
  };
  void begin_row(std::size_t cells) const;
  template <class Content>
  void add_cell(const Content& content) {
    if constexpr (std::is_same_v<Content, Cell>) {
      keep(content.text, content.colour);
    } else {
      keep(content, Colour::kNone);
    }
  }
  void keep(std::string_view text, Colour colour);
  std::string_view text_of(const Kept& cell) const {
    return std::string_view(texts_).substr(cell.begin, cell.bytes);
  }
  std::vector<std::size_t> fit(std::size_t width) const;  // 0: left out.

  std::vector<Column> columns_;
  std::vector<std::size_t> widest_;  // Of each column so far.
  std::string texts_;
  std::vector<Kept> cells_;  // Row by row.
};

// Text in a colour when the terminal shows it.
std::string in_colour(std::string_view text, Colour colour, const Terminal& terminal);

// text cut to width columns, with "…" as the last when something is missing.
std::string cut_to_width(std::string_view text, std::size_t width);

}  // namespace muster
