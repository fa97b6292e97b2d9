// Text that came from somebody else, made safe to show; and the nearest right word for a wrong one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// Printable text as it is; control characters (C0, DEL, C1), bidirectional overrides, invisible
// characters and bytes that are not UTF-8 become \n, \t, \x1b or \u{202e}. The result is one line
// and cannot steer a terminal.
std::string escape_for_terminal(std::string_view text);

// True when escape_for_terminal() would change something.
bool has_unprintable(std::string_view text);

// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours; case
// ignored), or empty when none is near enough to be what was meant. The first of equally near ones
// wins.
std::string_view nearest_match(std::string_view word, std::span<const std::string_view> candidates);

// Names of queues, accounts and nodes: 1…128 characters of [A-Za-z0-9._-], not beginning with "-"
// or ".". The error says which character, and where.
Result<void> check_name(std::string_view name);

// Names of jobs: 0…128 bytes of printable UTF-8.
Result<void> check_job_name(std::string_view name);

}  // namespace muster
