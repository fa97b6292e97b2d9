// Which variables a job takes along.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct ExportRule {
  bool all = true;
  std::vector<std::string> names;                         // Taken as they are, when not all.
  std::vector<std::pair<std::string, std::string>> sets;  // NAME=VALUE.
};

// "ALL", "NONE", "A,B=v", "ALL,A=v".
Result<ExportRule> parse_export(std::string_view text);

// "NAME=VALUE" with a name a shell could set.
Result<void> check_variable(std::string_view text);

// What travels: "KEY=VALUE\0" strings one after the other. Of own ("KEY=VALUE", as in environ)
// entries without a name and repeats of a name are left out, and so is what a job around this
// command set (MUSTER_*, RANK, …), which would be wrong in the new job. sets ("NAME=VALUE") come
// last and win. kLimit with the figures when there are too many variables or bytes.
Result<std::string> build_environment(std::span<const std::string_view> own, const ExportRule& rule,
                                      std::span<const std::string_view> sets);

}  // namespace muster
