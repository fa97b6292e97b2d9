// Fitting and drawing of tables.
#include "submit/cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/types/result.h"
#include "base/types/text.h"

namespace muster {

namespace {

constexpr std::size_t kGap = 2;

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kYellow:
      return "\x1b[33m";
    case Colour::kRed:
      return "\x1b[31m";
    case Colour::kFaint:
      return "\x1b[2m";
    default:
      return "";
  }
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width == 0 ? 0 : width + kGap;
  return sum == 0 ? 0 : sum - kGap;
}

}  // namespace

std::string in_colour(std::string_view text, Colour colour, const Terminal& terminal) {
  if (!terminal.colour || colour == Colour::kNone) return std::string(text);
  return std::string(code_of(colour)) + std::string(text) + "\x1b[0m";
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t next = 0; next < text.size();) {
    do {
      ++next;
    } while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0U) == 0x80U);
    if (display_width(text.substr(0, next)) + 1 > width) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "…";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_)
    widest_.push_back(std::max<std::size_t>(display_width(column.title), 1));
}

void Table::add(const std::vector<Cell>& cells) {
  begin_row(cells.size());
  for (const Cell& cell : cells) add_cell(cell);
}

void Table::begin_row(std::size_t cells) const {
  MUSTER_ASSERT(cells == columns_.size());
  MUSTER_ASSERT(cells_.size() % columns_.size() == 0);
}

void Table::keep(std::string_view text, Colour colour) {
  std::string escaped;
  std::size_t width = text.size();
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::all_of(text.begin(), text.end(), is_plain)) {  // Few are.
    if (has_unprintable(text)) text = escaped = escape_for_terminal(text);
    width = display_width(text);
  }
  std::size_t& widest = widest_[cells_.size() % columns_.size()];
  widest = std::max(widest, width);
  cells_.push_back({texts_.size(), static_cast<std::uint32_t>(text.size()),
                    static_cast<std::uint16_t>(std::min<std::size_t>(width, UINT16_MAX)), colour});
  texts_ += text;
}

std::vector<std::size_t> Table::fit(std::size_t width) const {
  std::vector<std::size_t> widths = widest_;
  if (width == 0) return widths;
  while (sum_of(widths) > width) {
    const std::size_t excess = sum_of(widths) - width;
    std::size_t widest = columns_.size();  // Of those that may be cut further.
    std::size_t last = columns_.size();    // Of those that may go.
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::size_t least = std::max(columns_[i].narrow, display_width(columns_[i].title));
      if (columns_[i].narrow != 0 && widths[i] > least &&
          (widest == columns_.size() || widths[i] > widths[widest])) {
        widest = i;
      }
      if (columns_[i].leave_out != 0 &&
          (last == columns_.size() || columns_[i].leave_out > columns_[last].leave_out)) {
        last = i;
      }
    }
    if (widest != columns_.size()) {
      const std::size_t least =
          std::max(columns_[widest].narrow, display_width(columns_[widest].title));
      widths[widest] -=
          std::min(excess, std::max<std::size_t>((widths[widest] - least + 1) / 2, 1));
    } else if (last != columns_.size()) {
      widths[last] = 0;
    } else {
      break;
    }
  }
  return widths;
}

namespace {

// Texts of one line after the other, with the spaces between them that a further text makes
// necessary.
class Drawing {
 public:
  Drawing(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
          const Terminal& terminal)
      : columns_(columns), widths_(widths), terminal_(terminal) {}

  void draw(std::size_t column, std::string_view whole, std::size_t used, Colour colour) {
    const std::size_t width = widths_[column];
    if (width == 0) return;
    std::string cut;
    if (used > width) {
      cut = cut_to_width(whole, width);
      used = display_width(cut);
      whole = cut;
    }
    const std::size_t padding = width - used;
    const bool is_right = columns_[column].align == Align::kRight;
    if (is_right) spaces_ += padding;
    if (!whole.empty()) {
      out_.append(spaces_, ' ');
      spaces_ = 0;
      if (terminal_.colour && colour != Colour::kNone) {
        out_ += in_colour(whole, colour, terminal_);
      } else {
        out_ += whole;
      }
    }
    spaces_ += kGap + (is_right ? 0 : padding);
  }
  void end_line() {
    out_ += '\n';
    spaces_ = 0;
  }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  std::string take() { return std::move(out_); }

 private:
  const std::vector<Column>& columns_;
  const std::vector<std::size_t>& widths_;
  const Terminal& terminal_;
  std::string out_;
  std::size_t spaces_ = 0;
};

}  // namespace

std::string Table::render(const Terminal& terminal) const {
  const std::vector<std::size_t> widths = fit(terminal.width);
  const std::size_t rows = cells_.size() / columns_.size();
  Drawing drawing(columns_, widths, terminal);
  drawing.reserve((rows + 1) * (sum_of(widths) + 1));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& title = columns_[i].title;
    drawing.draw(i, title, display_width(title), Colour::kFaint);
  }
  drawing.end_line();
  for (std::size_t at = 0; at < cells_.size();) {
    for (std::size_t i = 0; i < columns_.size(); ++i, ++at) {
      const Kept& cell = cells_[at];
      const std::string_view text = text_of(cell);
      const bool is_wide = cell.columns == UINT16_MAX;
      drawing.draw(i, text, is_wide ? display_width(text) : cell.columns, cell.colour);
    }
    drawing.end_line();
  }
  return drawing.take();
}

}  // namespace muster
