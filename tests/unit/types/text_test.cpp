// Hostile text, suggestions, rules for names.
#include "base/types/text.h"

#include <gtest/gtest.h>

#include <array>

#include "base/types/rng.h"

namespace muster {
namespace {

TEST(Escape, LeavesWhatPeopleWrite) {
  for (const char* text : {"", "plain text", "naïve café", "日本語", "😀 ok", "back\\slash"}) {
    EXPECT_EQ(escape_for_terminal(text), text);
    EXPECT_FALSE(has_unprintable(text)) << text;
  }
}

TEST(Escape, ShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(escape_for_terminal("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(escape_for_terminal("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(escape_for_terminal(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(escape_for_terminal("\xc2\x9b"
                                "2J"),
            "\\u{9b}2J");
  EXPECT_EQ(escape_for_terminal("\u202etxt.exe"), "\\u{202e}txt.exe");
  EXPECT_EQ(escape_for_terminal("\u2066\u200b\ufeff"), "\\u{2066}\\u{200b}\\u{feff}");
}

TEST(Escape, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(escape_for_terminal("\xff"), "\\xff");
  EXPECT_EQ(escape_for_terminal("a\xc3"), "a\\xc3");                  // Cut short.
  EXPECT_EQ(escape_for_terminal("\xc0\xaf"), "\\xc0\\xaf");           // Overlong.
  EXPECT_EQ(escape_for_terminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // Surrogate.
  EXPECT_EQ(escape_for_terminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Escape, OfAnythingIsPrintable) {
  Rng rng(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(12); i > 0; --i) text += static_cast<char>(rng.below(256));
    const std::string shown = escape_for_terminal(text);
    EXPECT_FALSE(has_unprintable(shown));
    EXPECT_EQ(has_unprintable(text), shown != text);
  }
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 5> kOptions{"--nodes", "--name", "--gpus",
                                                     "--gpus-per-node", "--mem"};
  EXPECT_EQ(nearest_match("--node", kOptions), "--nodes");
  EXPECT_EQ(nearest_match("--nodse", kOptions), "--nodes");
  EXPECT_EQ(nearest_match("--GPUS", kOptions), "--gpus");
  EXPECT_EQ(nearest_match("--gpus-per-nod", kOptions), "--gpus-per-node");
  EXPECT_EQ(nearest_match("--zzzzzz", kOptions), "");
  EXPECT_EQ(nearest_match("", kOptions), "");
  EXPECT_EQ(nearest_match(std::string(100000, 'x'), kOptions), "");
}

TEST(Names, SayWhichCharacter) {
  EXPECT_TRUE(check_name("gpu-long_1.x").ok());
  EXPECT_FALSE(check_name("").ok());
  EXPECT_FALSE(check_name("-x").ok());
  EXPECT_FALSE(check_name("..").ok());
  EXPECT_FALSE(check_name("a/b").ok());
  EXPECT_TRUE(check_name(std::string(128, 'a')).ok());
  EXPECT_FALSE(check_name(std::string(129, 'a')).ok());
  EXPECT_NE(check_name("a b").error().message.find("at 2"), std::string::npos);
  EXPECT_TRUE(check_job_name("").ok());
  EXPECT_TRUE(check_job_name("größe 1").ok());
  EXPECT_FALSE(check_job_name("a\x1b]0;b").ok());
  EXPECT_FALSE(check_job_name(std::string(129, 'a')).ok());
}

}  // namespace
}  // namespace muster
