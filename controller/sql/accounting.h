// Reports out of PostgreSQL: what jobs used and what it costs.
#pragma once

#include <string>
#include <vector>

#include "base/message/accounting.h"
#include "base/types/result.h"
#include "controller/sql/database.h"

namespace muster {

// A read-only connection for reports. One thread's object; after kUnavailable it is dead: connect
// anew.
class Accounting {
 public:
  static Result<Accounting> connect(const std::string& conninfo, const std::string& cluster_id);

  // Newest job first. kInvalid: the filter is over its limits, or the query took longer than 30 s.
  // Whether the asker may see the rows is the caller's business: narrow filter.users.
  Result<std::vector<AccountingRow>> query(const AccountingFilter& filter);

 private:
  Accounting(Database database, std::string cluster_id);
  Database database_;
  std::string cluster_id_;
};

}  // namespace muster
