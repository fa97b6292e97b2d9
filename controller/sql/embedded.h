// The SQL text of sql/, compiled in. Names are paths below sql/ without ".sql":
// "queries/feed_lock".
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct EmbeddedSql {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedSql> embedded_sql();  // By name.

// The text of that name. Asserts that it exists: names are constants of ours.
std::string_view sql_text(std::string_view name);

}  // namespace muster
