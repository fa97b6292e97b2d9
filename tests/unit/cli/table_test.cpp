// Tables: fitting, alignment, colour, and text of others that must not steer a terminal.
#include "submit/cli/table.h"

#include <gtest/gtest.h>

#include "submit/script/value.h"

namespace muster {
namespace {

Table sample() {
  Table table({{"JOB"},
               {"NAME", Align::kLeft, 6},
               {"USER", Align::kLeft, 4, 1},
               {"GPUS", Align::kRight, 0, 2},
               {"WHY", Align::kLeft, 5}});
  table.add({"17", "a-rather-long-name", "kim", "8", "no free GPUs in the queue"});
  table.add({"18_[0-99]", "b", "lee", "16", ""});
  return table;
}

Terminal of_width(std::size_t width) {
  Terminal terminal;
  terminal.width = width;
  return terminal;
}

TEST(Table, IsAsWideAsItNeedsToBe) {
  EXPECT_EQ(sample().render(of_width(0)),
            "JOB        NAME                USER  GPUS  WHY\n"
            "17         a-rather-long-name  kim      8  no free GPUs in the queue\n"
            "18_[0-99]  b                   lee     16\n");
}

TEST(Table, FitsEveryWidthDownToItsLeast) {
  for (std::size_t width = 26; width <= 80; ++width) {
    const std::string text = sample().render(of_width(width));
    for (const std::string_view line : split_text(text, '\n'))
      EXPECT_LE(display_width(line), width) << text;
  }
}

TEST(Table, CutsTheWidestFirstAndThenLeavesColumnsOut) {
  EXPECT_EQ(sample().render(of_width(50)),
            "JOB        NAME          USER  GPUS  WHY\n"
            "17         a-rather-lo…  kim      8  no free GPUs…\n"
            "18_[0-99]  b             lee     16\n");
  EXPECT_EQ(sample().render(of_width(26)),
            "JOB        NAME    WHY\n"
            "17         a-rat…  no f…\n"
            "18_[0-99]  b\n");
}

TEST(Table, OverflowsRatherThanLoseWhatMustStay) {
  Table table({{"A"}, {"B"}});
  table.add({"0123456789", "0123456789"});
  EXPECT_EQ(table.render(of_width(5)), "A           B\n0123456789  0123456789\n");
}

TEST(Table, EscapesHostileText) {
  Table table({{"NAME"}});
  table.add({"a\x1b[2J\nb\u202e"});
  EXPECT_EQ(table.render(of_width(0)), "NAME\na\\x1b[2J\\nb\\u{202e}\n");
}

TEST(Table, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(display_width("名前"), 4U);
  EXPECT_EQ(display_width("e\u0301x"), 2U);
  EXPECT_EQ(display_width("ü"), 1U);
  EXPECT_EQ(cut_to_width("名前名前", 5), "名前…");
  Table table({{"N"}, {"X"}});
  table.add({"名", "1"});
  table.add({"abc", "2"});
  EXPECT_EQ(table.render(of_width(0)), "N    X\n名   1\nabc  2\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
  Table table({{"STATE"}});
  table.add({Cell("running", Colour::kGreen)});
  EXPECT_EQ(table.render(of_width(0)), "STATE\nrunning\n");
  Terminal terminal;
  terminal.colour = true;
  EXPECT_EQ(table.render(terminal), "\x1b[2mSTATE\x1b[0m\n\x1b[32mrunning\x1b[0m\n");
}

}  // namespace
}  // namespace muster
