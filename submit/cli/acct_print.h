// Accounting rows on the screen.
#pragma once

#include <span>
#include <string>

#include "base/message/accounting.h"
#include "submit/cli/terminal.h"

namespace muster {

// A row each, and the sums (by currency) when there are several.
std::string accounting_table(std::span<const AccountingRow> rows, const Terminal& terminal);

// The exact sum of decimals such as "12.5" and "0.000001"; words that are no decimals count
// nothing.
std::string sum_of_decimals(std::span<const std::string_view> decimals);

}  // namespace muster
