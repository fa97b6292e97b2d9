// Values of options, checked where they are read, so that an error can name the place.
#include "submit/script/option.h"

#include <vector>

#include "base/types/depends.h"
#include "base/types/hostlist.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "base/types/time.h"
#include "base/types/wish.h"
#include "submit/script/array.h"
#include "submit/script/environment.h"
#include "submit/script/pattern.h"
#include "submit/script/time_ahead.h"
#include "submit/script/value.h"

namespace muster {

namespace {

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string shown = escape_for_terminal(text.substr(0, kShown));
  if (text.size() > kShown) shown += "…";
  return "\"" + shown + "\"";
}

Error invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

Result<void> check_text(std::string_view text) {
  if (text.empty()) return invalid("the value is empty");
  if (has_unprintable(text))
    return invalid(quoted(text) + " has characters that cannot be printed");
  return {};
}

Result<void> check_choice(const Option& option, std::string_view text) {
  const std::vector<std::string_view> choices = split_text(option.value, '|');
  for (const std::string_view choice : choices) {
    if (choice == text) return {};
  }
  std::string why = quoted(text) + " is not one of";
  for (const std::string_view choice : choices) why += " " + std::string(choice);
  const std::string_view near = nearest_match(text, choices);
  if (!near.empty()) why += "; did you mean " + std::string(near) + "?";
  return invalid(why);
}

Result<void> check_integer(const Option& option, std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  auto number = parse_count(negative ? text.substr(1) : text, 0, option.max);
  if (!number) return number.error();
  return {};
}

Result<void> check_names(std::string_view text) {
  for (const std::string_view name : split_text(text, ',')) {
    if (auto fine = check_name(name); !fine) return fine;
  }
  return {};
}

// The shapes that need a parser of their own; the rest are above.
template <class T>
Result<void> outcome(const Result<T>& parsed) {
  if (!parsed) return parsed.error();
  return {};
}

Result<void> check_parsed(const Option& option, std::string_view text) {
  switch (option.kind) {
    case ValueKind::kCount:
      return outcome(parse_count(text, option.min, option.max));
    case ValueKind::kMemory:
      return outcome(parse_memory_mib(text));
    case ValueKind::kMemoryOrAll:
      return text == "0" ? Result<void>() : outcome(parse_memory_mib(text));
    case ValueKind::kRange:
      return outcome(parse_range(text, option.max));
    case ValueKind::kGpus:
      return is_share(text) ? outcome(parse_share(text))
                            : outcome(parse_count(text, option.min, option.max));
    case ValueKind::kShare:
      return outcome(parse_share(text));
    case ValueKind::kLicences:
      return outcome(parse_licences(text));
    case ValueKind::kTopology:
      return outcome(parse_topology(text));
    case ValueKind::kWish:
      return outcome(parse_wish(text));
    case ValueKind::kDuration:
      return outcome(parse_duration(text));
    case ValueKind::kSeconds:
      return outcome(parse_seconds(text));
    case ValueKind::kHosts:
      return outcome(parse_hostlist(text));
    case ValueKind::kArray:
      return outcome(parse_array(text));
    case ValueKind::kUuid:
      return outcome(parse_uuid(text));
    case ValueKind::kDepends:
      return outcome(parse_depends(text));
    case ValueKind::kWhen:
      return outcome(parse_time_ahead(text, WallTime{}));
    case ValueKind::kExport:
      return outcome(parse_export(text));
    default:
      return check_variable(text);
  }
}

}  // namespace

Result<void> check_value(const Option& option, std::string_view text) {
  switch (option.kind) {
    case ValueKind::kFlag:
      return {};
    case ValueKind::kText:
    case ValueKind::kOptions:
      return check_text(text);
    case ValueKind::kInteger:
      return check_integer(option, text);
    case ValueKind::kName:
      return check_name(text);
    case ValueKind::kNames:
      return check_names(text);
    case ValueKind::kJobName:
      if (text.empty()) return invalid("the name is empty");
      return check_job_name(text);
    case ValueKind::kPath:
      return check_path(text);
    case ValueKind::kPattern:
      return check_pattern(text);
    case ValueKind::kChoice:
      return check_choice(option, text);
    default:
      return check_parsed(option, text);
  }
}

Error bad_value(std::string_view origin, const Option& option, const std::string& why) {
  std::string message = std::string(origin) + ": --" + std::string(option.name) + ": " + why;
  if (!option.example.empty()) {
    message += "; for example --" + std::string(option.name) + " " + std::string(option.example);
  }
  return invalid(message);
}

const Option* find_option(std::span<const Option> options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

const Option* find_option(std::span<const Option> options, char letter) {
  if (letter == '\0') return nullptr;
  for (const Option& option : options) {
    if (option.letter == letter) return &option;
  }
  return nullptr;
}

}  // namespace muster
