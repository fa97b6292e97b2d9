// Wishes for features: what is read, what is refused and where, and what nodes they grant.
#include "base/types/wish.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string read(const std::string& text) {
  const auto parsed = parse_wish(text);
  if (!parsed) return parsed.error().message;
  std::string all = to_text(parsed->all);
  for (const CountedWish& part : parsed->counted)
    all += " +" + std::to_string(part.nodes) + ":" + to_text(part.wish);
  EXPECT_TRUE(check_wish(parsed->all).ok());
  return all;
}

TEST(Wish, ReadsWhatPeopleWrite) {
  EXPECT_EQ(read("ib"), "ib");
  EXPECT_EQ(read(" ib & nvme "), "ib&nvme");
  EXPECT_EQ(read("a&(b|c)"), "a&(b|c)");
  EXPECT_EQ(read("(a&b)|c"), "a&b|c");
  EXPECT_EQ(read("a|b&c|d"), "a|b&c|d");
  EXPECT_EQ(read("((a))"), "a");
  EXPECT_EQ(read("[a*2&b*4]"), " +2:a +4:b");
  EXPECT_EQ(read("a*2&b*4"), " +2:a +4:b");
  EXPECT_EQ(read("ib&[rack1*2&(rack2|rack3)*4]"), "ib +2:rack1 +4:rack2|rack3");
  EXPECT_EQ(read("ib&a*1&nvme"), "ib&nvme +1:a");
}

TEST(Wish, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(read(""), "at character 1: a feature is missing");
  EXPECT_EQ(read("(a|b"), "at character 1: this ( is not closed");
  EXPECT_EQ(read("a&(b|(c"), "at character 6: this ( is not closed");
  EXPECT_EQ(read("a)"), "at character 2: there is no ( for this )");
  EXPECT_EQ(read("a&"), "at character 3: a feature is missing");
  EXPECT_EQ(read("a&&b"), "at character 3: a feature is missing before &");
  EXPECT_EQ(read("a b"), "at character 3: \"b\" is not expected: put & or | between features");
  EXPECT_EQ(read("[a*2"), "at character 1: this [ is not closed");
  EXPECT_EQ(read("[a|b]"), "at character 3: in [ ] every feature has a count, as in [a*2&b*4]");
  EXPECT_EQ(read("a*0"), "at character 3: a count from 1 to 100000 is missing behind *");
  EXPECT_EQ(read("a*2|b"), "at character 4: \"|\" is not expected: put & or | between features");
  EXPECT_EQ(read("b&(a*2)"),
            "at character 5: a count belongs behind a feature at the top, as in a*2");
  EXPECT_EQ(read("a]"), "at character 2: there is no [ for this ]");
  EXPECT_NE(read("a;b").find("at character 1: "), std::string::npos);
  EXPECT_EQ(read(std::string(17, '(') + "a"),
            "at character 17: parentheses are deeper than 16 levels");
  std::string many = "a";
  for (int i = 0; i < 32; ++i) many += "|a";
  EXPECT_EQ(read(many), "more than 63 names and operators");
}

TEST(Wish, IsGrantedByFeatures) {
  const auto granted = [](const std::string& text, const std::vector<std::string>& features) {
    return is_granted(parse_wish(text)->all, features);
  };
  EXPECT_TRUE(granted("a&(b|c)", {"a", "c"}));
  EXPECT_FALSE(granted("a&(b|c)", {"a"}));
  EXPECT_FALSE(granted("a&(b|c)", {"b", "c"}));
  EXPECT_TRUE(granted("a|b&c", {"a"}));
  EXPECT_FALSE(granted("a|b&c", {"b"}));
  EXPECT_TRUE(is_granted({}, {}));
}

TEST(Wish, FromAPeerIsCheckedBeforeUse) {
  EXPECT_TRUE(check_wish({}).ok());
  EXPECT_FALSE(check_wish({{WishOp::kAnd, ""}}).ok());
  EXPECT_FALSE(check_wish({{WishOp::kFeature, "a"}, {WishOp::kFeature, "b"}}).ok());
  EXPECT_FALSE(check_wish({{WishOp::kFeature, "a\n"}}).ok());
  EXPECT_FALSE(
      check_wish({{WishOp::kFeature, "a"}, {WishOp::kFeature, "b"}, {WishOp::kOr, "c"}}).ok());
  EXPECT_FALSE(check_wish(Wish(64, {WishOp::kFeature, "a"})).ok());
}

TEST(Wish, JoinsAndTellsPlainLists) {
  const Wish all = *both(parse_wish("a|b")->all, parse_wish("c")->all);
  EXPECT_EQ(to_text(all), "(a|b)&c");
  EXPECT_TRUE(names_when_plain(all).empty());
  EXPECT_EQ(names_when_plain(parse_wish("a&b&c")->all), (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace muster
