// What journal records say, as rows for COPY into the staging tables of sql/queries/feed_stage.sql.
// No I/O.
#pragma once

#include <array>
#include <span>
#include <string>

#include "controller/core/event.h"
#include "controller/sql/database.h"

namespace muster {

class FactRows {
 public:
  explicit FactRows(std::string cluster);  // The cluster's number, as text.

  // Adds the rows of all events of a record. Events that SQL does not keep add none.
  void add(const Record& record);
  std::span<const SqlSheet> sheets() const { return sheets_; }

 private:
  std::string cluster_;
  std::array<SqlSheet, 17> sheets_;
};

}  // namespace muster
