// The one grammar of options.
#include "submit/script/arguments.h"

#include <optional>

#include "base/types/text.h"

namespace muster {

void Arguments::add(const Arguments& other) {
  given_.insert(given_.end(), other.given_.begin(), other.given_.end());
}

const Given* Arguments::find(std::string_view name) const {
  for (auto at = given_.rbegin(); at != given_.rend(); ++at) {
    if (at->option->name == name) return &*at;
  }
  return nullptr;
}

std::string_view Arguments::text(std::string_view name, std::string_view otherwise) const {
  const Given* given = find(name);
  return given == nullptr ? otherwise : std::string_view(given->value);
}

std::vector<std::string_view> Arguments::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Given& given : given_) {
    if (given.option->name == name) values.push_back(given.value);
  }
  return values;
}

namespace {

class WordParser {
 public:
  WordParser(std::span<const std::string> words, const WordRules& rules)
      : words_(words), rules_(rules) {}

  Result<ParsedWords> run() {
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_++];
      if (word == "--") {
        if (rules_.operands == Operands::kNone) return unexpected(word);
        parsed_.has_rest = true;
        parsed_.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
        break;
      }
      if (word.size() > 1 && word[0] == '-') {
        auto taken = word[1] == '-' ? take_long(word.substr(2)) : take_letter(word);
        if (!taken) return taken.error();
        continue;
      }
      if (rules_.operands == Operands::kNone) return unexpected(word);
      parsed_.operands.emplace_back(word);
      if (rules_.operands == Operands::kFirst) {
        parsed_.operands.insert(parsed_.operands.end(),
                                words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
        break;
      }
    }
    return std::move(parsed_);
  }

 private:
  Error error(const std::string& why) const {
    return fail(ErrorCode::kInvalid, std::string(rules_.origin) + ": " + why);
  }

  Error unexpected(std::string_view word) const {
    return error("unexpected \"" + escape_for_terminal(word.substr(0, 64)) +
                 "\": options begin with --, as in --nodes 2; put values with spaces in quotes");
  }

  Error unknown(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Option& option : rules_.options) names.push_back(option.name);
    for (const Option& option : rules_.more_options) names.push_back(option.name);
    std::string why = "unknown option --" + escape_for_terminal(name.substr(0, 64));
    const std::string_view near = nearest_match(name, names);
    why += near.empty() ? "; --help lists all" : "; did you mean --" + std::string(near) + "?";
    return error(why);
  }

  Result<void> take_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Option* option = find_option(rules_.options, name);
    if (option == nullptr) option = find_option(rules_.more_options, name);
    if (option == nullptr) return unknown(name);
    if (equals == std::string_view::npos) return take(*option, std::nullopt);
    return take(*option, text.substr(equals + 1));
  }

  // "-f", "-n3".
  Result<void> take_letter(std::string_view word) {
    const Option* option = find_option(rules_.options, word[1]);
    if (option == nullptr) option = find_option(rules_.more_options, word[1]);
    if (option == nullptr) {
      return error("unknown option " + escape_for_terminal(word.substr(0, 64)) +
                   "; --help lists all");
    }
    if (word.size() == 2) return take(*option, std::nullopt);
    return take(*option, word.substr(2));
  }

  Result<void> take(const Option& option, std::optional<std::string_view> attached) {
    if (option.kind == ValueKind::kFlag) {
      if (attached.has_value()) return error("--" + std::string(option.name) + " takes no value");
      parsed_.options.add({&option, "", std::string(rules_.origin)});
      return {};
    }
    std::string_view value;
    if (attached.has_value()) {
      value = *attached;
    } else {
      const bool may_begin_so = option.kind == ValueKind::kOptions;
      if (at_ == words_.size() || (words_[at_].starts_with("--") && !may_begin_so)) {
        return bad_value(rules_.origin, option, "needs a value");
      }
      value = words_[at_++];
    }
    if (auto fine = check_value(option, value); !fine) {
      return bad_value(rules_.origin, option, fine.error().message);
    }
    parsed_.options.add({&option, std::string(value), std::string(rules_.origin)});
    return {};
  }

  std::span<const std::string> words_;
  const WordRules& rules_;
  std::size_t at_ = 0;
  ParsedWords parsed_;
};

}  // namespace

Result<ParsedWords> parse_words(std::span<const std::string> words, const WordRules& rules) {
  return WordParser(words, rules).run();
}

}  // namespace muster
