// Splitting, and times that commands wait.
#include "submit/script/value.h"

#include <algorithm>
#include <string>

#include "base/types/resources.h"
#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<Duration> parse_seconds(std::string_view text) {
  if (text == "0" || text == "0s") return Duration{};
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return parse_duration(bare ? std::string(text) + "s" : std::string(text));
}

Result<CountRange> parse_range(std::string_view text, std::uint64_t max) {
  const std::size_t dash = text.find('-', 1);
  const auto low = parse_count(text.substr(0, dash), 1, max);
  if (!low) return low.error();
  if (dash == std::string_view::npos) return CountRange{*low, *low};
  const auto high = parse_count(text.substr(dash + 1), 1, max);
  if (!high) return high.error();
  if (*low > *high) {
    return fail(ErrorCode::kInvalid, "\"" + std::string(text) +
                                         "\" runs backwards: " + std::to_string(*low) +
                                         " is more than " + std::to_string(*high));
  }
  return CountRange{*low, *high};
}

Result<std::vector<LicenceCount>> parse_licences(std::string_view text) {
  std::vector<LicenceCount> licences;
  for (const std::string_view item : split_text(text, ',')) {
    const std::size_t colon = item.find(':');
    LicenceCount licence{std::string(item.substr(0, colon)), 1};
    if (auto fine = check_name(licence.name); !fine) return fine.error();
    if (colon != std::string_view::npos) {
      const auto count = parse_count(item.substr(colon + 1), 1, 1000000000);
      if (!count) return count.error();
      licence.count = static_cast<std::uint32_t>(*count);
    }
    for (const LicenceCount& other : licences) {
      if (other.name == licence.name)
        return fail(ErrorCode::kInvalid, licence.name + " is there twice");
    }
    licences.push_back(std::move(licence));
  }
  std::sort(licences.begin(), licences.end());
  return licences;
}

Result<ParsedTopology> parse_topology(std::string_view text) {
  ParsedTopology parsed;
  parsed.required = text.ends_with("!");
  if (parsed.required) text.remove_suffix(1);
  parsed.wish.required = parsed.required;
  const std::size_t mark = std::min(text.find_first_of("=:"), text.size());
  const std::string_view kind = text.substr(0, mark);
  const std::string_view rest = text.substr(std::min(mark + 1, text.size()));
  const bool has_count = mark < text.size() && text[mark] == '=';
  const bool has_name = mark < text.size() && text[mark] == ':';
  if (kind == "clique" && mark == text.size()) {
    parsed.clique = true;
    parsed.wish = {};
    return parsed;
  }
  const bool counts = kind == "switches" || kind == "segment";
  const bool known = kind != "any" && enum_from_name(kind, parsed.wish.kind);
  if (!known || has_count != counts || (counts && has_name)) {
    return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(text.substr(0, 64)) +
                                         "\" is none of clique, switch, block, switch:NAME, "
                                         "switches=N and segment=N, each perhaps with a !");
  }
  if (has_count) {
    const auto count = parse_count(rest, 1, kNodesPerJobMax);
    if (!count) return count.error();
    parsed.wish.count = static_cast<std::uint32_t>(*count);
  }
  if (has_name) {
    if (auto fine = check_name(rest); !fine) return fine.error();
    parsed.wish.name = rest;
  }
  return parsed;
}

bool is_share(std::string_view text) {
  return text.find('.') != std::string_view::npos || text.ends_with("m");
}

Result<std::uint32_t> parse_share(std::string_view text) {
  const Error wrong = fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(text.substr(0, 64)) +
                                                    "\" is no share of a GPU: write 0.5 or 500m, "
                                                    "from 0.001 to 1");
  if (text.ends_with("m")) {
    const auto milli = parse_count(text.substr(0, text.size() - 1), 1, kMilliPerGpu);
    if (!milli) return wrong;
    return static_cast<std::uint32_t>(*milli);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(point == text.size() ? text : text.substr(point + 1));
  const auto whole = parse_count(text.substr(0, point), 0, 1);
  if (!whole) return wrong;
  if (point == text.size()) digits = "0";
  if (digits.empty() || digits.size() > 3) return wrong;
  while (digits.size() < 3) digits += '0';
  const auto part = parse_count(digits, 0, kMilliPerGpu - 1);
  const std::uint64_t milli = part ? *whole * kMilliPerGpu + *part : 0;
  if (milli == 0 || milli > kMilliPerGpu) return wrong;
  return static_cast<std::uint32_t>(milli);
}

}  // namespace muster
