// Reading and writing dependencies.
#include "base/types/depends.h"

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

Error bad(std::string_view item, const std::string& why) {
  return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(item.substr(0, 64)) + "\": " + why);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::uint64_t> number_of(std::string_view item, std::string_view text, std::uint64_t most) {
  Result<std::uint64_t> number = parse_count(text, 0, most);
  if (!number) return bad(item, number.error().message);
  return number;
}

// "12", "12_3", "12+30".
Result<Condition> target_of(After kind, std::string_view item, std::string_view text) {
  Condition condition;
  condition.kind = kind;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    if (kind != After::kStarted) return bad(item, "+MINUTES is for after: only");
    const auto most = static_cast<std::uint64_t>(kConditionDelayMax.us / minutes(1).us);
    const Result<std::uint64_t> delay = number_of(item, text.substr(plus + 1), most);
    if (!delay) return delay.error();
    condition.delay = minutes(static_cast<std::int64_t>(*delay));
    text = text.substr(0, plus);
  }
  if (const std::size_t under = text.find('_'); under != std::string_view::npos) {
    if (kind == After::kCorr) return bad(item, "aftercorr: takes a whole array, not an element");
    const Result<std::uint64_t> index = number_of(item, text.substr(under + 1), UINT32_MAX);
    if (!index) return index.error();
    condition.element = Element{static_cast<std::uint32_t>(*index)};
    text = text.substr(0, under);
  }
  const Result<std::uint64_t> job = number_of(item, text, UINT64_MAX);
  if (!job) return job.error();
  if (*job == 0) return bad(item, "there is no job 0");
  condition.job = JobId{*job};
  return condition;
}

Result<void> add_item(std::string_view item, std::vector<Condition>& out) {
  const std::vector<std::string_view> parts = parts_of(item, ':');
  After kind{};
  if (!enum_from_name(parts[0], kind)) {
    return bad(item, "expected after, afterok, afternotok, afterany, aftercorr or singleton");
  }
  if ((kind == After::kSingleton) != (parts.size() == 1)) {
    return bad(item, kind == After::kSingleton ? "singleton takes no job"
                                               : "which job? For example afterok:17");
  }
  if (kind == After::kSingleton) out.push_back({kind, {}, {}, {}});
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (out.size() == kConditionsMax)
      return bad(item, "more than " + std::to_string(kConditionsMax) + " conditions");
    const Result<Condition> condition = target_of(kind, item, parts[i]);
    if (!condition) return condition.error();
    out.push_back(*condition);
  }
  return {};
}

}  // namespace

Result<Depends> parse_depends(std::string_view text) {
  const bool any = text.find('?') != std::string_view::npos;
  if (any && text.find(',') != std::string_view::npos)
    return bad(text, "either , (all of them) or ? (one is enough) between conditions, not both");
  Depends depends;
  depends.any = any;
  for (const std::string_view item : parts_of(text, any ? '?' : ',')) {
    if (const Result<void> added = add_item(item, depends.conditions); !added) return added.error();
  }
  return depends;
}

std::string to_text(const Condition& condition) {
  std::string text(name_of(condition.kind));
  if (condition.kind == After::kSingleton) return text;
  text += ":" + std::to_string(condition.job.value);
  if (condition.element) text += "_" + std::to_string(condition.element->value);
  if (condition.delay.us != 0) text += "+" + std::to_string(condition.delay.us / minutes(1).us);
  return text;
}

std::string to_text(const Depends& depends) {
  std::string text;
  for (const Condition& condition : depends.conditions) {
    if (!text.empty()) text += depends.any ? "?" : ",";
    text += to_text(condition);
  }
  return text;
}

}  // namespace muster
