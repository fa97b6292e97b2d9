// What a job takes along of its submitter's environment.
#include "submit/script/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

using Words = std::vector<std::string_view>;

// With ";" for NUL.
std::string taken(const Words& own, std::string_view rule, const Words& sets = {}) {
  auto parsed = parse_export(rule);
  if (!parsed) return "error: " + parsed.error().message;
  auto built = build_environment(own, *parsed, sets);
  if (!built) return "error: " + built.error().message;
  std::replace(built->begin(), built->end(), '\0', ';');
  return *built;
}

TEST(Environment, TakesAllWithFunctionsAndLibraryPath) {
  EXPECT_EQ(taken({"A=1", "LD_LIBRARY_PATH=/x", "BASH_FUNC_go%%=() {  echo; }", "E="}, "ALL"),
            "A=1;LD_LIBRARY_PATH=/x;BASH_FUNC_go%%=() {  echo; };E=;");
}

TEST(Environment, LeavesOutWhatIsNoVariable) {
  EXPECT_EQ(taken({"A=1", "novalue", "=x", "A=2", "B=\xff"}, "ALL"), "A=1;B=\xff;");
}

TEST(Environment, TakesNoneOrAList) {
  EXPECT_EQ(taken({"A=1", "B=2"}, "NONE"), "");
  EXPECT_EQ(taken({"A=1", "B=2", "C=3", "BASH_FUNC_C%%=() { :; }"}, "C,A,Z"),
            "A=1;C=3;BASH_FUNC_C%%=() { :; };");
  EXPECT_EQ(taken({"A=1", "B=2"}, "B=9,D=,A"), "A=1;B=9;D=;");
  EXPECT_EQ(taken({"A=1", "B=2"}, "ALL,B=9"), "A=1;B=9;");
}

TEST(Environment, SetsWin) {
  EXPECT_EQ(taken({"A=1", "B=2"}, "ALL,A=5", {"A=6", "N=a=b"}), "B=2;A=6;N=a=b;");
}

TEST(Environment, AJobInsideAJobDoesNotInheritItsRank) {
  EXPECT_EQ(taken({"RANK=3", "OMP_NUM_THREADS=4"}, "ALL"), "RANK=3;OMP_NUM_THREADS=4;");
  EXPECT_EQ(
      taken({"RANK=3", "OMP_NUM_THREADS=4", "MUSTER_JOB_ID=7", "MUSTER_GATEWAY=/s", "X=1"}, "ALL"),
      "MUSTER_GATEWAY=/s;X=1;");
}

TEST(Environment, RefusesBadLists) {
  EXPECT_EQ(taken({}, "A,NONE"), "error: NONE stands alone");
  EXPECT_EQ(taken({}, ""), "error: \"\" is not ALL, NONE, NAME or NAME=VALUE");
  EXPECT_EQ(taken({}, "A B"), "error: \"A B\" is not ALL, NONE, NAME or NAME=VALUE");
  EXPECT_FALSE(check_variable("=x").ok());
  EXPECT_FALSE(check_variable("A").ok());
  EXPECT_TRUE(check_variable("_a1=").ok());
}

TEST(Environment, HasLimits) {
  std::vector<std::string> many;
  for (int i = 0; i < 4097; ++i) many.push_back("V" + std::to_string(i) + "=");
  Words views(many.begin(), many.end());
  EXPECT_EQ(taken(views, "ALL").substr(0, 60),
            "error: the environment has 4097 variables and 27569 bytes; t");
  views.pop_back();
  EXPECT_NE(taken(views, "ALL").substr(0, 5), "error");
  const std::string big = "A=" + std::string(256U << 10U, 'x');
  EXPECT_EQ(taken({big}, "ALL"),
            "error: the environment has 1 variables and 262147 bytes; the limits are 4096 and "
            "262144: take less "
            "along with --export NAME,NAME,…");
}

}  // namespace
}  // namespace muster
