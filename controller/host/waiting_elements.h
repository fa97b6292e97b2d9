// What accounting shows of elements that have had no attempt: the database has no facts of them
// yet.
#pragma once

#include <vector>

#include "base/message/accounting.h"
#include "controller/host/view.h"

namespace muster {

// Puts a row for each range of waiting elements that passes the filter among the rows of the
// database (newest job first, then by element), in place of its row "nothing has happened yet" of
// an array; filter.limit holds again afterwards.
void add_waiting_elements(const ViewState& state, const AccountingFilter& filter,
                          std::vector<AccountingRow>& rows);

}  // namespace muster
