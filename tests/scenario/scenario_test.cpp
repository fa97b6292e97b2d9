// Every *.scenario of this folder is a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/scenario/stage.h"

namespace muster::scenario {
namespace {

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(MUSTER_SOURCE_DIR "/tests/scenario")) {
    if (entry.path().extension() == ".scenario") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, Holds) {
  std::ifstream file(GetParam());
  std::stringstream text;
  text << file.rdbuf();
  const Result<std::vector<Statement>> statements = parse_scenario(text.str());
  ASSERT_TRUE(statements.ok()) << GetParam() << ": " << statements.error().message;
  const Result<void> played = Stage().play(*statements);
  EXPECT_TRUE(played.ok()) << GetParam() << ": " << played.error().message;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, ::testing::ValuesIn(scenario_files()),
                         [](const auto& each) {
                           std::string name = std::filesystem::path(each.param).stem().string();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

// The language itself: what is wrong is named with its line.
TEST(ScenarioLanguage, NamesTheLineAtFault) {
  EXPECT_NE(parse_scenario("node n1\n\nat 5x submit a\n").error().message.find("line 3"),
            std::string::npos);
  EXPECT_NE(parse_scenario("expect a says \"open\nnode n1").error().message.find("line 1"),
            std::string::npos);
  const auto bad = parse_scenario("node n1 gpus=1\nsubmit a gpus=1\nexpect a waiting\n");
  const Result<void> played = Stage().play(*bad);
  ASSERT_FALSE(played.ok());
  EXPECT_NE(played.error().message.find("line 3: expected waiting, got active"), std::string::npos)
      << played.error().message;
  EXPECT_FALSE(Stage().play(*parse_scenario("sumbit a")).ok());
}

}  // namespace
}  // namespace muster::scenario
