// Every option of --help is in the manual page, and the other way round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/cli/programs.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The name at text[at…]; empty when there is none.
std::string name_at(const std::string& text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
  return text.substr(at, end == std::string::npos ? end : end - at);
}

// "      --name …" and "  -n, --name …": lines of the lists, not of the text around them.
std::set<std::string> options_of_help(const std::string& help) {
  std::set<std::string> names;
  for (const std::string& line : lines_of(help)) {
    const bool has_letter =
        line.size() > 8 && line.starts_with("  -") && line.compare(4, 4, ", --") == 0;
    if (line.starts_with("      --") || has_letter) names.insert(name_at(line, 8));
  }
  return names;
}

// The line after ".TP" that begins with ".B" and names an option; in roff a dash is "\\-".
std::set<std::string> options_of_page(const std::string& page) {
  std::set<std::string> names;
  bool is_tag = false;
  for (std::string line : lines_of(page)) {
    if (is_tag && line.starts_with(".B")) {
      line.erase(std::remove(line.begin(), line.end(), '\\'), line.end());
      const std::size_t dashes = line.find("--");
      if (dashes != std::string::npos) names.insert(name_at(line, dashes + 2));
    }
    is_tag = line == ".TP";
  }
  return names;
}

// The numbers of the list at the end of --help.
std::set<std::string> codes_of_help(const std::string& help) {
  std::set<std::string> codes;
  for (const std::string& line : lines_of(help.substr(help.find("Exit codes:")))) {
    const std::size_t end = line.find_first_not_of("0123456789", 2);
    if (line.starts_with("  ") && end != std::string::npos && end > 2)
      codes.insert(line.substr(2, end - 2));
  }
  return codes;
}

std::string page_of(const char* program) {
  return read_file(std::string(MUSTER_SOURCE_DIR) + "/docs/man/" + program + ".1");
}

class ManPage : public ::testing::TestWithParam<const char*> {};

TEST_P(ManPage, HasExactlyTheOptionsOfHelp) {
  const auto in_help = options_of_help(run_program(GetParam(), "--help").output);
  EXPECT_FALSE(in_help.empty());
  EXPECT_EQ(in_help, options_of_page(page_of(GetParam())));
}

TEST_P(ManPage, HasItsSections) {
  const std::string page = page_of(GetParam());
  for (const char* section : {".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXIT STATUS",
                              ".SH EXAMPLES", ".SH SEE ALSO"}) {
    EXPECT_THAT(page, HasSubstr(section));
  }
}

TEST_P(ManPage, HasTheExitCodesOfHelp) {
  const auto codes = codes_of_help(run_program(GetParam(), "--help").output);
  EXPECT_GE(codes.size(), 9U);
  const std::string page = page_of(GetParam());
  for (const std::string& code : codes) EXPECT_THAT(page, HasSubstr(".TP\n.B " + code + "\n"));
}

INSTANTIATE_TEST_SUITE_P(Each, ManPage, ::testing::ValuesIn(kPrograms),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace muster
