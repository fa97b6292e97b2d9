// Looks up embedded SQL by name.
#include "controller/sql/embedded.h"

#include "base/types/result.h"

namespace muster {

std::string_view sql_text(std::string_view name) {
  for (const EmbeddedSql& file : embedded_sql()) {
    if (file.name == name) return file.text;
  }
  MUSTER_ASSERT(false && "no such SQL text");
  return {};
}

}  // namespace muster
