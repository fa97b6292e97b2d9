// Words of a command line, or of a #GPU line, matched against a table of options.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "submit/script/option.h"

namespace muster {

// One option as given. Its value has passed check_value().
struct Given {
  const Option* option = nullptr;
  std::string value;
  std::string origin;  // "gpusubmit", "train.sh:3".
};

class Arguments {
 public:
  void add(Given given) { given_.push_back(std::move(given)); }
  // Adds all of other after what is here, so that other wins.
  void add(const Arguments& other);

  const Given* find(std::string_view name) const;  // The last one; null when not given.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string_view text(std::string_view name, std::string_view otherwise = {}) const;
  std::vector<std::string_view> all(std::string_view name) const;
  const std::vector<Given>& given() const { return given_; }

 private:
  std::vector<Given> given_;
};

struct ParsedWords {
  Arguments options;
  std::vector<std::string> operands;  // Words that are no options.
  std::vector<std::string> rest;      // What came after "--".
  bool has_rest = false;              // "--" was there.
};

enum class Operands : std::uint8_t {
  kNone,   // A #GPU line: a word that is no option is an error.
  kMixed,  // Anywhere between options.
  kFirst,  // The first ends the options: it and all that follows are operands.
};

// "--name value", "--name=value", "--flag", "-f", "-f value". origin begins every error; the tables
// are searched in turn. kInvalid: unknown option (with the nearest right one), missing or
// superfluous value, bad value.
struct WordRules {
  std::string_view origin;
  std::span<const Option> options;
  std::span<const Option> more_options;  // The common ones.
  Operands operands = Operands::kMixed;
};
Result<ParsedWords> parse_words(std::span<const std::string> words, const WordRules& rules);

}  // namespace muster
