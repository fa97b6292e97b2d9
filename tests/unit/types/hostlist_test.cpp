// Host lists: both directions, limits, hostile input.
#include "base/types/hostlist.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/types/rng.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

TEST(Hostlist, ExpandsInTheOrderWritten) {
  EXPECT_EQ(*parse_hostlist("n[1-3,07],m2"), (Names{"n1", "n2", "n3", "n07", "m2"}));
  EXPECT_EQ(*parse_hostlist("n[08-11]"), (Names{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(*parse_hostlist("r[1-2]n[1-2]-ib"),
            (Names{"r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"}));
  EXPECT_EQ(*parse_hostlist("[5]"), (Names{"5"}));
  EXPECT_EQ(*parse_hostlist("b,a,a"), (Names{"b", "a", "a"}));
}

TEST(Hostlist, RefusesWhatIsMalformed) {
  for (const char* text : {"",
                           ",",
                           "a,",
                           ",a",
                           "n[",
                           "n[1",
                           "n]",
                           "n[]",
                           "n[1-]",
                           "n[-1]",
                           "n[3-1]",
                           "n[1,,2]",
                           "n[a]",
                           "n[01-2]",
                           "n[1-02]",
                           "n[1-2-3]",
                           "n[[1]]",
                           "n 1",
                           "n\n1",
                           "n[1234567890]",
                           "a[1]b[1]c[1]d[1]e[1]",
                           "é"}) {
    const auto names = parse_hostlist(text);
    ASSERT_FALSE(names.ok()) << text;
    EXPECT_EQ(names.error().code, ErrorCode::kInvalid) << text;
  }
}

TEST(Hostlist, StopsBeforeItMakesTooManyNames) {
  for (const char* text : {"n[0-999999999]", "n[1-60000],m[1-60000]", "a[1-1000]b[1-1000]",
                           "a[1-99999]b[1-99999]c[1-99999]d[1-99999]"}) {
    const auto names = parse_hostlist(text);
    ASSERT_FALSE(names.ok()) << text;
    EXPECT_EQ(names.error().code, ErrorCode::kLimit) << text;
  }
  EXPECT_EQ(parse_hostlist("n[1-3]", 3)->size(), 3U);
  EXPECT_FALSE(parse_hostlist("n[1-3]", 2).ok());
  EXPECT_FALSE(parse_hostlist(std::string(kHostlistBytesMax + 1, 'a')).ok());
}

TEST(Hostlist, Compresses) {
  EXPECT_EQ(compress_hostlist(Names{"n1", "n2", "n3", "n07", "m2"}), "n[1-3,07],m2");
  EXPECT_EQ(compress_hostlist(Names{"n8", "n9", "n10", "n11"}), "n[8-11]");
  EXPECT_EQ(compress_hostlist(Names{"n08", "n09", "n10"}), "n[08-10]");
  EXPECT_EQ(compress_hostlist(Names{"n3", "n1", "n2"}), "n[3,1-2]");
  EXPECT_EQ(compress_hostlist(Names{"login", "login"}), "login,login");
  EXPECT_EQ(compress_hostlist(Names{"n99", "n100"}), "n[99-100]");
  EXPECT_EQ(compress_hostlist(Names{}), "");
}

TEST(Hostlist, WhatIsCompressedExpandsToTheSame) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    Names names;
    const std::uint64_t count = rng.between(1, 30);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string name = rng.chance(500) ? "n" : "rack1-n";
      if (rng.chance(200)) name += "0";
      if (rng.chance(900)) name += std::to_string(rng.chance(300) ? rng.next() : rng.below(15));
      if (rng.chance(100)) name += ".ib";
      names.push_back(name);
    }
    const std::string text = compress_hostlist(names);
    const auto again = parse_hostlist(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.error().message;
    ASSERT_EQ(*again, names) << text;
  }
}

TEST(Hostlist, SurvivesNoise) {
  Rng rng(8);
  constexpr std::string_view kAlphabet = "n1[]-,0.\x80";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(16); i > 0; --i)
      text += kAlphabet[rng.below(kAlphabet.size())];
    const auto names = parse_hostlist(text, 1000);
    EXPECT_LE(names ? names->size() : 0, 1000U);
  }
}

TEST(Hostlist, PeopleCountInNumbers) {
  Names names{"n10", "n2", "n1", "m3", "n01", "n2-ib", "n"};
  std::sort(names.begin(), names.end(), host_before);
  EXPECT_EQ(names, (Names{"m3", "n", "n01", "n1", "n2", "n2-ib", "n10"}));
  EXPECT_FALSE(host_before("n1", "n1"));
}

}  // namespace
}  // namespace muster
