// Lines to words.
#include "tests/scenario/statement.h"

#include <algorithm>

namespace muster::scenario {
namespace {

struct Word {
  std::string text;
  bool quoted = false;
};

Result<std::vector<Word>> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t i = 0;
  while (i < line.size()) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    Word word;
    if (line[i] == '"') {
      const std::size_t end = line.find('"', i + 1);
      if (end == std::string_view::npos) return fail(ErrorCode::kInvalid, "a quote is not closed");
      word = {std::string(line.substr(i + 1, end - i - 1)), true};
      i = end + 1;
    } else {
      const std::size_t end = std::min(line.find(' ', i), line.size());
      word.text = std::string(line.substr(i, end - i));
      i = end;
    }
    words.push_back(std::move(word));
  }
  return words;
}

Result<Duration> time_of(const std::string& text) {
  if (text == "0s") return Duration{};
  return parse_duration(text);
}

Result<Statement> statement_of(const std::vector<Word>& words) {
  Statement statement;
  std::size_t next = 0;
  if (words[0].text == "at") {
    if (words.size() < 3) return fail(ErrorCode::kInvalid, "at TIME needs a statement");
    const Result<Duration> at = time_of(words[1].text);
    if (!at) return fail(ErrorCode::kInvalid, words[1].text + ": " + at.error().message);
    statement.at = *at;
    next = 2;
  }
  statement.verb = words[next++].text;
  for (; next < words.size(); ++next) {
    const std::string& text = words[next].text;
    const std::size_t equals = words[next].quoted ? std::string::npos : text.find('=');
    if (equals == std::string::npos)
      statement.words.push_back(text);
    else
      statement.options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return statement;
}

}  // namespace

bool Statement::has(const std::string& word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string Statement::option(const std::string& key, const std::string& otherwise) const {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : found->second;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= text.size() && !text.empty()) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<LicenceCount> licences_of(const std::string& text) {
  std::vector<LicenceCount> licences;
  for (const std::string& one : split(text, ',')) {
    const std::vector<std::string> sides = split(one, ':');
    const int count = sides.size() == 2 ? std::atoi(sides[1].c_str()) : 1;
    licences.push_back({sides[0], static_cast<std::uint32_t>(count)});
  }
  return licences;
}

Result<std::vector<Statement>> parse_scenario(std::string_view text) {
  std::vector<Statement> statements;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const Result<std::vector<Word>> words = words_of(line);
    const std::string where = "line " + std::to_string(number) + ": ";
    if (!words) return fail(ErrorCode::kInvalid, where + words.error().message);
    if (words->empty()) continue;
    Result<Statement> statement = statement_of(*words);
    if (!statement) return fail(ErrorCode::kInvalid, where + statement.error().message);
    statement->line = number;
    statements.push_back(*std::move(statement));
  }
  return statements;
}

}  // namespace muster::scenario
