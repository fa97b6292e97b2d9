// Every option of --help is in the manual page, and the other way round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/unit/cli/programs.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::set<std::string> matches_of(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex form(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at)
    found.insert((*at)[1].str());
  return found;
}

std::string page_of(const char* program) {
  return read_file(std::string(MUSTER_SOURCE_DIR) + "/docs/man/" + program + ".1");
}

class ManPage : public ::testing::TestWithParam<const char*> {};

TEST_P(ManPage, HasExactlyTheOptionsOfHelp) {
  // Of the lists, not of the text around them.
  const auto in_help = matches_of(run_program(GetParam(), "--help").output,
                                  "(?:^|\n) {2}(?:-[a-z], | {4})--([a-z-]+)");
  const auto in_page = matches_of(
      page_of(GetParam()), "\n\\.TP\n\\.[BIR]+ (?:\\\\-[a-z] \", \" )?\\\\-\\\\-([a-z\\\\-]+)");
  std::set<std::string> page_names;
  for (const std::string& name : in_page)
    page_names.insert(std::regex_replace(name, std::regex("\\\\-"), "-"));
  EXPECT_FALSE(in_help.empty());
  EXPECT_EQ(in_help, page_names);
}

TEST_P(ManPage, HasItsSections) {
  const std::string page = page_of(GetParam());
  for (const char* section : {".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXIT STATUS",
                              ".SH EXAMPLES", ".SH SEE ALSO"}) {
    EXPECT_THAT(page, HasSubstr(section));
  }
}

TEST_P(ManPage, HasTheExitCodesOfHelp) {
  const std::string help = run_program(GetParam(), "--help").output;
  const std::string codes = help.substr(help.find("Exit codes:"));
  const std::string page = page_of(GetParam());
  for (const std::string& code : matches_of(codes, "\n  ([0-9]+) ")) {
    EXPECT_THAT(page, HasSubstr(".TP\n.B " + code + "\n")) << code;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ManPage, ::testing::ValuesIn(kPrograms),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace muster
