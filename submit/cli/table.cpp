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

void Table::add(std::vector<Cell> cells) {
  MUSTER_ASSERT(cells.size() == columns_.size());
  for (Cell& cell : cells) {
    if (has_unprintable(cell.text)) cell.text = escape_for_terminal(cell.text);
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::fit(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = display_width(columns_[i].title);
    for (const std::vector<Cell>& row : rows_)
      widest = std::max(widest, display_width(row[i].text));
    widths.push_back(std::max<std::size_t>(widest, 1));
  }
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

std::string Table::render(const Terminal& terminal) const {
  const std::vector<std::size_t> widths = fit(terminal.width);
  std::string out;
  out.reserve((rows_.size() + 1) * (sum_of(widths) + 1));
  std::size_t spaces = 0;  // That only a further text makes necessary.
  const auto draw = [&](std::size_t i, std::string_view whole, Colour colour) {
    if (widths[i] == 0) return;
    std::size_t used = display_width(whole);
    std::string cut;
    if (used > widths[i]) {
      cut = cut_to_width(whole, widths[i]);
      used = display_width(cut);
      whole = cut;
    }
    const std::size_t padding = widths[i] - used;
    if (columns_[i].align == Align::kRight) spaces += padding;
    if (!whole.empty()) {
      out.append(spaces, ' ');
      spaces = 0;
      if (terminal.colour && colour != Colour::kNone) {
        out += in_colour(whole, colour, terminal);
      } else {
        out += whole;
      }
    }
    spaces += kGap + (columns_[i].align == Align::kLeft ? padding : 0);
  };
  const auto end_line = [&] {
    out += '\n';
    spaces = 0;
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) draw(i, columns_[i].title, Colour::kFaint);
  end_line();
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < columns_.size(); ++i) draw(i, row[i].text, row[i].colour);
    end_line();
  }
  return out;
}

}  // namespace muster
