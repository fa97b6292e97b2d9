// Applies the migrations that this program carries to a database. For `gpuadmin db migrate` and the
// quickstart.
#pragma once

#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct Migrated {
  int version = 0;                   // Of the schema now.
  std::vector<std::string> applied;  // By this call, in order: "0001_facts".
};

// All pending migrations in one transaction, so a failure leaves the database as it was. Safe to
// repeat and to run twice at once. kConflict: a migration was changed after it had been applied, or
// the database is newer than this program. Other errors as Database's.
Result<Migrated> migrate(const std::string& conninfo);

}  // namespace muster
