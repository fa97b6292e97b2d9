// Parsing of array indices.
#include "submit/script/array.h"

#include <algorithm>
#include <vector>

#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/script/value.h"

namespace muster {

namespace {

Error invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

std::uint64_t size_of(const IndexRange& range) {
  return (range.last - range.first) / range.step + 1ULL;
}

Error bad_item(std::string_view item, const std::string& why) {
  return invalid("\"" + escape_for_terminal(item.substr(0, 64)) + "\": " + why);
}

// "A", "A-B", "A-B:STEP"; last becomes an index that exists.
Result<IndexRange> parse_item(std::string_view item) {
  const std::string_view whole = item;
  std::uint64_t step = 1;
  if (const std::size_t colon = item.find(':'); colon != std::string_view::npos) {
    auto given = parse_count(item.substr(colon + 1), 1, kArrayElementsMax);
    if (!given) return bad_item(whole, "the step " + given.error().message);
    step = *given;
    item = item.substr(0, colon);
    if (item.find('-') == std::string_view::npos)
      return bad_item(whole, "a step needs a range, as in 0-99:3");
  }
  const std::size_t dash = item.find('-', 1);
  auto first = parse_count(item.substr(0, dash), 0, kArrayIndexMax);
  if (!first) return bad_item(whole, "the index " + first.error().message);
  auto last = dash == std::string_view::npos
                  ? first
                  : parse_count(item.substr(dash + 1), 0, kArrayIndexMax);
  if (!last) return bad_item(whole, "the index " + last.error().message);
  if (*last < *first) return bad_item(whole, "runs backwards");
  IndexRange range;
  range.first = static_cast<std::uint32_t>(*first);
  range.step = *first == *last ? 1 : static_cast<std::uint32_t>(step);
  range.last = static_cast<std::uint32_t>(*last - (*last - *first) % step);
  if (range.last == range.first) range.step = 1;
  return range;
}

// Ranges that interleave (0-10:2,1-9:2) taken apart and put together again in rising order.
Result<std::vector<IndexRange>> untangle(const std::vector<IndexRange>& ranges) {
  std::vector<std::uint32_t> indices;
  for (const IndexRange& range : ranges) {
    for (std::uint64_t at = range.first; at <= range.last; at += range.step) {
      indices.push_back(static_cast<std::uint32_t>(at));
    }
  }
  std::sort(indices.begin(), indices.end());
  const auto twice = std::adjacent_find(indices.begin(), indices.end());
  if (twice != indices.end())
    return invalid("the index " + std::to_string(*twice) + " is given twice");
  std::vector<IndexRange> rising;
  for (std::size_t at = 0; at < indices.size();) {
    std::size_t end = at + 1;
    const std::uint32_t step = end < indices.size() ? indices[end] - indices[at] : 1;
    while (end < indices.size() && indices[end] - indices[end - 1] == step) ++end;
    if (end == at + 2 && step != 1) end = at + 1;  // Two far apart are no range.
    rising.push_back({indices[at], indices[end - 1], end == at + 1 ? 1 : step});
    at = end;
  }
  return rising;
}

Result<std::vector<IndexRange>> in_rising_order(std::vector<IndexRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t total = 0;
  bool tangled = false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    total += size_of(ranges[i]);
    if (i > 0 && ranges[i].first <= ranges[i - 1].last) tangled = true;
  }
  if (total > kArrayElementsMax) {
    return invalid("the array has " + std::to_string(total) + " elements; the limit is " +
                   std::to_string(kArrayElementsMax));
  }
  if (tangled) return untangle(ranges);
  return ranges;
}

}  // namespace

Result<ArraySpec> parse_array(std::string_view text) {
  constexpr std::size_t kBytesMax = 1U << 20U;
  if (text.empty()) return invalid("empty: expected indices such as 0-99 or 1,5,9");
  if (text.size() > kBytesMax) return invalid("the list is longer than 1 MiB");
  ArraySpec array;
  std::vector<IndexRange> ranges;
  for (std::string_view item : split_text(text, ',')) {
    if (const std::size_t percent = item.find('%'); percent != std::string_view::npos) {
      auto most = parse_count(item.substr(percent + 1), 1, kArrayElementsMax);
      if (!most) return bad_item(item, "the number after % " + most.error().message);
      if (array.running_max != 0)
        return bad_item(item, "% is given twice; it is for the whole array");
      array.running_max = static_cast<std::uint32_t>(*most);
      item = item.substr(0, percent);
    }
    auto range = parse_item(item);
    if (!range) return range.error();
    ranges.push_back(*range);
  }
  auto rising = in_rising_order(std::move(ranges));
  if (!rising) return rising.error();
  array.ranges = *std::move(rising);
  return array;
}

std::string to_text(const ArraySpec& array) {
  std::string text;
  for (const IndexRange& range : array.ranges) {
    if (!text.empty()) text += ",";
    text += std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
    if (range.step != 1) text += ":" + std::to_string(range.step);
  }
  if (array.running_max != 0) text += "%" + std::to_string(array.running_max);
  return text;
}

}  // namespace muster
