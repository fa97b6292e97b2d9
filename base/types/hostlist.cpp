// Lists of node names in short form, and back.
#include "base/types/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::size_t kDigitsMax = 9;  // Of a number in brackets.

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

Error malformed(std::string_view text, std::string_view why) {
  std::string shown = escape_for_terminal(text.substr(0, 64));
  if (text.size() > 64) shown += "…";
  return fail(ErrorCode::kInvalid, "host list \"" + shown + "\": " + std::string(why));
}

Error too_many(std::size_t hosts_max) {
  return fail(ErrorCode::kLimit, "host list: more than " + std::to_string(hosts_max) + " names");
}

// One run of numbers in brackets; width keeps leading zeros.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 1;
  std::size_t count() const { return last - first + 1; }
};

// Literal text, then the numbers that may follow it (none at the end of a name).
struct Piece {
  std::string_view literal;
  std::vector<Range> ranges;
};

Result<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : text.substr(dash + 1);
  for (const std::string_view part : {low, high}) {
    if (part.empty() || part.size() > kDigitsMax ||
        !std::all_of(part.begin(), part.end(), is_digit)) {
      return malformed(text, "expected numbers such as 1-3,07 in brackets");
    }
  }
  Range range;
  range.width = low.size();
  for (const char c : low) range.first = range.first * 10 + static_cast<std::uint64_t>(c - '0');
  for (const char c : high) range.last = range.last * 10 + static_cast<std::uint64_t>(c - '0');
  if (range.last < range.first) return malformed(text, "the range runs backwards");
  const bool padded = low.size() > 1 && low[0] == '0';
  if (padded && high.size() != low.size())
    return malformed(text, "the ends of a padded range differ in width");
  if (!padded && high.size() > 1 && high[0] == '0') {
    return malformed(text, "the ends of a padded range differ in width");
  }
  return range;
}

Result<std::vector<Range>> parse_ranges(std::string_view text, std::size_t hosts_max) {
  std::vector<Range> ranges;
  std::size_t count = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    auto range = parse_range(text.substr(0, comma));
    if (!range) return range.error();
    count += range->count();
    if (count > hosts_max) return too_many(hosts_max);
    ranges.push_back(*range);
    if (comma == std::string_view::npos) return ranges;
    text.remove_prefix(comma + 1);
  }
}

// One entry of the list: literals and brackets by turns.
Result<std::vector<Piece>> parse_entry(std::string_view entry, std::size_t hosts_max) {
  std::vector<Piece> pieces;
  std::string_view rest = entry;
  while (true) {
    const std::size_t open = rest.find('[');
    const std::string_view literal = rest.substr(0, open);
    if (!std::all_of(literal.begin(), literal.end(), is_name_char)) {
      return malformed(entry, "names are made of letters, digits, '.', '_' and '-'");
    }
    pieces.push_back({literal, {}});
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return malformed(entry, "a bracket is not closed");
    auto ranges = parse_ranges(rest.substr(open + 1, close - open - 1), hosts_max);
    if (!ranges) return ranges.error();
    pieces.back().ranges = *std::move(ranges);
    rest.remove_prefix(close + 1);
    if (pieces.size() > kHostBracketsMax) return malformed(entry, "too many brackets in one name");
  }
  if (pieces.size() == 1 && pieces[0].literal.empty()) return malformed(entry, "an empty name");
  return pieces;
}

std::string padded(std::uint64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

// Every name of an entry, the last bracket running fastest. False when there would be more than
// room.
bool expand(const std::vector<Piece>& pieces, std::size_t room, std::vector<std::string>& names) {
  std::size_t total = 1;
  for (const Piece& piece : pieces) {
    if (piece.ranges.empty()) continue;
    std::size_t count = 0;
    for (const Range& range : piece.ranges) count += range.count();
    if (count > room / total) return false;
    total *= count;
  }
  if (total > room) return false;
  std::vector<std::string> made{""};
  for (const Piece& piece : pieces) {
    for (std::string& name : made) name += piece.literal;
    if (piece.ranges.empty()) continue;
    std::vector<std::string> longer;
    for (const std::string& name : made) {
      for (const Range& range : piece.ranges) {
        for (std::uint64_t n = range.first; n <= range.last; ++n)
          longer.push_back(name + padded(n, range.width));
      }
    }
    made = std::move(longer);
  }
  std::move(made.begin(), made.end(), std::back_inserter(names));
  return true;
}

// Length of the first entry: up to the first comma outside brackets.
std::size_t entry_size(std::string_view text) {
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') inside = true;
    if (text[at] == ']') inside = false;
    if (text[at] == ',' && !inside) return at;
  }
  return text.size();
}

// A name cut at its last number: prefix, number, suffix.
struct Cut {
  std::string_view prefix;
  std::string_view suffix;
  std::uint64_t number = 0;
  std::size_t width = 0;
};

std::optional<Cut> cut_name(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < kDigitsMax) --begin;
  if (begin == end) return std::nullopt;
  Cut cut{name.substr(0, begin), name.substr(end), 0, end - begin};
  for (std::size_t at = begin; at < end; ++at)
    cut.number = cut.number * 10 + static_cast<std::uint64_t>(name[at] - '0');
  return cut;
}

// Whether a range that began with `first` and now ends with `last` can take `next`.
bool extends(const Cut& first, const Cut& last, const Cut& next) {
  if (next.number != last.number + 1) return false;
  const bool is_padded = first.width > 1 && std::to_string(first.number).size() < first.width;
  if (is_padded) return next.width == first.width;
  return std::to_string(next.number).size() == next.width;
}

std::string range_text(const Cut& first, const Cut& last) {
  std::string text = padded(first.number, first.width);
  if (last.number != first.number) text += "-" + padded(last.number, last.width);
  return text;
}

// Text of names[begin…], all those that share one prefix and suffix; moves begin past them.
std::string take_group(std::span<const std::string> names, std::size_t& begin) {
  const std::optional<Cut> head = cut_name(names[begin]);
  if (!head) return names[begin++];
  std::string inside;
  Cut first = *head;
  Cut last = *head;
  std::size_t taken = 1;
  for (; begin + taken < names.size(); ++taken) {
    const std::optional<Cut> next = cut_name(names[begin + taken]);
    if (!next || next->prefix != head->prefix || next->suffix != head->suffix) break;
    if (!extends(first, last, *next)) {
      inside += range_text(first, last) + ",";
      first = *next;
    }
    last = *next;
  }
  if (taken == 1) return names[begin++];
  begin += taken;
  return std::string(head->prefix) + "[" + inside + range_text(first, last) + "]" +
         std::string(head->suffix);
}

}  // namespace

Result<std::vector<std::string>> parse_hostlist(std::string_view text, std::size_t hosts_max) {
  if (text.empty()) return fail(ErrorCode::kInvalid, "host list: empty");
  if (text.size() > kHostlistBytesMax) {
    return fail(ErrorCode::kLimit,
                "host list: longer than " + std::to_string(kHostlistBytesMax) + " bytes");
  }
  std::vector<std::string> names;
  while (true) {
    const std::size_t size = entry_size(text);
    auto pieces = parse_entry(text.substr(0, size), hosts_max);
    if (!pieces) return pieces.error();
    if (!expand(*pieces, hosts_max - names.size(), names)) return too_many(hosts_max);
    if (size == text.size()) return names;
    text.remove_prefix(size + 1);
  }
}

std::string compress_hostlist(std::span<const std::string> names) {
  std::string text;
  for (std::size_t at = 0; at < names.size();) {
    if (!text.empty()) text += ",";
    text += take_group(names, at);
  }
  return text;
}

bool host_before(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const std::size_t a_begin = std::min(a.find_first_not_of('0', i), a.size());
    const std::size_t b_begin = std::min(b.find_first_not_of('0', j), b.size());
    i = std::min(a.find_first_not_of("0123456789", a_begin), a.size());
    j = std::min(b.find_first_not_of("0123456789", b_begin), b.size());
    const std::string_view a_number = a.substr(a_begin, i - a_begin);
    const std::string_view b_number = b.substr(b_begin, j - b_begin);
    if (a_number.size() != b_number.size()) return a_number.size() < b_number.size();
    if (a_number != b_number) return a_number < b_number;
  }
  if (i != a.size() || j != b.size()) return i == a.size();  // The longer one comes later.
  return a < b;  // Same numbers, other padding: n1 and n01.
}

}  // namespace muster
