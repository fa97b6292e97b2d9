// Counts and memory sizes: accepted forms, and one clear error for each wrong one.
#include "base/types/size.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

TEST(Count, AcceptsOnlyWholeNumbersInTheRange) {
  EXPECT_EQ(*parse_count("0", 0, 10), 0U);
  EXPECT_EQ(*parse_count("0010", 0, 10), 10U);
  const auto max = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(*parse_count("18446744073709551615", 0, max), max);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.5", "1k", "0x10", "11",
                           "18446744073709551616", "99999999999999999999999"}) {
    EXPECT_FALSE(parse_count(text, 0, 10).ok()) << text;
  }
  EXPECT_FALSE(parse_count("18446744073709551616", 0, max).ok());
}

TEST(Count, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(parse_count("12x", 1, 64).error().message,
            "\"12x\" is not a whole number (unexpected \"x\" at character 3)");
  EXPECT_EQ(parse_count("65", 1, 64).error().message, "\"65\" is too large: the limit is 64");
  EXPECT_EQ(parse_count("0", 1, 64).error().message, "\"0\" is too small: the least is 1");
  EXPECT_EQ(parse_count("-3", 1, 64).error().message,
            "\"-3\" is negative: expected a whole number");
  EXPECT_EQ(parse_count("", 1, 64).error().message, "empty: expected a whole number");
  EXPECT_EQ(parse_count("\x1b[2J", 1, 64).error().message,
            "\"\\x1b[2J\" is not a whole number (unexpected \"\\x1b\" at character 1)");
}

TEST(Memory, AcceptsTheUsualForms) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"512", 512},     {"512M", 512},      {"512m", 512},
      {"512MB", 512},   {"512MiB", 512},    {"16G", 16384},
      {"16gb", 16384},  {"1.5T", 1572864},  {"0.5G", 512},
      {"1K", 1},        {"1025K", 2},       {"1.001M", 2},
      {"1.125G", 1152}, {"2P", 2147483648}, {"1048576T", kMemoryMibMax}};
  for (const auto& [text, mib] : cases) {
    const auto parsed = parse_memory_mib(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, mib) << text;
  }
}

TEST(Memory, RefusesTheRest) {
  for (const char* text : {"",
                           "G",
                           "-1G",
                           "0",
                           "0G",
                           "0.0001G",
                           "1.G",
                           ".5G",
                           "1.5.5G",
                           "1,5G",
                           "16 G",
                           "16X",
                           "16GG",
                           "16Gi",
                           "1e3",
                           "nan",
                           "inf",
                           "99999999999999999999",
                           "18014398509481984P",
                           "1048577T",
                           "1.1234G",
                           "18446744073709551615K"}) {
    EXPECT_FALSE(parse_memory_mib(text).ok()) << text;
  }
}

TEST(Memory, Prints) {
  EXPECT_EQ(memory_to_text(0), "0M");
  EXPECT_EQ(memory_to_text(512), "512M");
  EXPECT_EQ(memory_to_text(1000), "1000M");
  EXPECT_EQ(memory_to_text(1024), "1G");
  EXPECT_EQ(memory_to_text(1536), "1.5G");
  EXPECT_EQ(memory_to_text(1537), "1537M");
  EXPECT_EQ(memory_to_text(16384), "16G");
  EXPECT_EQ(memory_to_text(191234), "186.7G");
  EXPECT_EQ(memory_to_text(1572864), "1.5T");
}

}  // namespace
}  // namespace muster
