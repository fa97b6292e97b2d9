// One line of a scenario, taken apart.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster::scenario {

struct Statement {
  int line = 0;
  std::optional<Duration> at;
  std::string verb;
  std::vector<std::string> words;              // After the verb, without "=".
  std::map<std::string, std::string> options;  // key=value.

  bool has(const std::string& word) const;  // A bare word.
  std::string option(const std::string& key, const std::string& otherwise = "") const;
};

// Empty lines and comments are left out. Errors name the line.
Result<std::vector<Statement>> parse_scenario(std::string_view text);

std::vector<std::string> split(const std::string& text, char separator);

// "matlab:2,foo"
std::vector<LicenceCount> licences_of(const std::string& text);

}  // namespace muster::scenario
