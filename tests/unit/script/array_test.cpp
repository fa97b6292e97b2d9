// Array indices: both ways of writing them and every way of getting them wrong.
#include "submit/script/array.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string round_trip(std::string_view text) {
  auto array = parse_array(text);
  return array.ok() ? to_text(*array) : "error: " + array.error().message;
}

TEST(Array, ReadsListsRangesAndSteps) {
  EXPECT_EQ(round_trip("7"), "7");
  EXPECT_EQ(round_trip("0-99"), "0-99");
  EXPECT_EQ(round_trip("0-99%8,200-300:2"), "0-99,200-300:2%8");
  EXPECT_EQ(round_trip("0-9:20"), "0");
  EXPECT_EQ(round_trip("0-10:3"), "0-9:3");
  EXPECT_EQ(round_trip("4294967290-4294967294"), "4294967290-4294967294");
}

TEST(Array, PutsThemInOrder) {
  EXPECT_EQ(round_trip("9,1,5"), "1,5,9");
  EXPECT_EQ(round_trip("200-300,0-99%1"), "0-99,200-300%1");
  EXPECT_EQ(round_trip("0-10:2,1-9:2"), "0-10");
  EXPECT_EQ(round_trip("0-8:4,1-2"), "0-2,4,8");
}

TEST(Array, HoldsAsManyAsTheLimit) {
  EXPECT_EQ(round_trip("0-999999"), "0-999999");
  EXPECT_EQ(round_trip("0-1000000"), "error: the array has 1000001 elements; the limit is 1000000");
  EXPECT_EQ(round_trip("0-999999,0-999999"),
            "error: the array has 2000000 elements; the limit is 1000000");
  EXPECT_EQ(round_trip("0-4294967294"),
            "error: the array has 4294967295 elements; the limit is 1000000");
}

TEST(Array, RefusesWhatIsNoArray) {
  EXPECT_EQ(round_trip(""), "error: empty: expected indices such as 0-99 or 1,5,9");
  EXPECT_EQ(round_trip("5-1"), "error: \"5-1\": runs backwards");
  EXPECT_EQ(round_trip("1,,2"), "error: \"\": the index empty: expected a whole number");
  EXPECT_EQ(round_trip("-3"),
            "error: \"-3\": the index \"-3\" is negative: expected a whole number");
  EXPECT_EQ(round_trip("1-"), "error: \"1-\": the index empty: expected a whole number");
  EXPECT_EQ(
      round_trip("a"),
      "error: \"a\": the index \"a\" is not a whole number (unexpected \"a\" at character 1)");
  EXPECT_EQ(
      round_trip("4294967295"),
      "error: \"4294967295\": the index \"4294967295\" is too large: the limit is 4294967294");
  EXPECT_EQ(round_trip("0-9:0"), "error: \"0-9:0\": the step \"0\" is too small: the least is 1");
  EXPECT_EQ(round_trip("3:2"), "error: \"3:2\": a step needs a range, as in 0-99:3");
  EXPECT_EQ(round_trip("0-9%0"),
            "error: \"0-9%0\": the number after % \"0\" is too small: the least is 1");
  EXPECT_EQ(round_trip("0-9%2,11%3"),
            "error: \"11%3\": % is given twice; it is for the whole array");
  EXPECT_EQ(round_trip("0-9,5"), "error: the index 5 is given twice");
}

}  // namespace
}  // namespace muster
