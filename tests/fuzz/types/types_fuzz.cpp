// Parsers of typed text: no input may crash them, and what they accept they must print back.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/hostlist.h"
#include "base/types/ids.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "base/types/time.h"
#include "base/types/wish.h"

namespace muster {
namespace {

void check_hosts(std::string_view text) {
  const auto names = parse_hostlist(text, 1000);
  if (!names) return;
  const auto again = parse_hostlist(compress_hostlist(*names), 1000);
  MUSTER_ASSERT(again.ok() && *again == *names);
}

void check_numbers(std::string_view text) {
  const auto duration = parse_duration(text);
  if (duration) MUSTER_ASSERT(*parse_duration(to_clock(*duration)) == *duration);
  const auto memory = parse_memory_mib(text);
  if (memory) MUSTER_ASSERT(*memory >= 1 && *memory <= kMemoryMibMax);
  const auto key = parse_attempt_key(text);
  if (key) MUSTER_ASSERT(*parse_attempt_key(to_text(*key)) == *key);
  const auto uuid = parse_uuid(text);
  if (uuid) MUSTER_ASSERT(*parse_uuid(to_text(*uuid)) == *uuid);
}

void check_wishes(std::string_view text) {
  const auto parsed = parse_wish(text);
  if (!parsed) return;
  MUSTER_ASSERT(check_wish(parsed->all).ok());
  if (parsed->all.empty()) return;
  const auto again = parse_wish(to_text(parsed->all));
  MUSTER_ASSERT(again.ok() && to_text(again->all) == to_text(parsed->all));
  static_cast<void>(is_granted(parsed->all, {"a", "b"}));
}

void check_text(std::string_view text) {
  const std::string shown = escape_for_terminal(text);
  MUSTER_ASSERT(!has_unprintable(shown));
  if (check_name(text)) MUSTER_ASSERT(shown == text);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  muster::check_hosts(text);
  muster::check_numbers(text);
  muster::check_text(text);
  muster::check_wishes(text);
  return 0;
}
