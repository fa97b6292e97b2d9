// Text that PostgreSQL cannot hold is escaped, all other text is left alone.
#include <gtest/gtest.h>

#include "controller/sql/database.h"
#include "controller/sql/embedded.h"

namespace muster {
namespace {

TEST(StorableText, LeavesValidTextAlone) {
  for (const std::string text : {"", "plain", "'; DROP TABLE x; --", "tab\tnewline\nback\\slash",
                                 "ünïcödé €", "\xf0\x9f\x90\xa7"}) {
    EXPECT_EQ(storable_text(text), text);
  }
}

TEST(StorableText, EscapesNulAndBadUtf8) {
  EXPECT_EQ(storable_text(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(storable_text("\xff"), "\\xff");
  EXPECT_EQ(storable_text("\xc0\xaf"), "\\xc0\\xaf");                    // Overlong.
  EXPECT_EQ(storable_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // Surrogate.
  EXPECT_EQ(storable_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // Beyond U+10FFFF.
  EXPECT_EQ(storable_text("x\xe2\x82"), "x\\xe2\\x82");                  // Cut short.
}

TEST(SqlArray, QuotesEveryValue) {
  const std::vector<std::string> values{"a", "b,c", "\"q\"", "back\\slash", "{}", "NULL", ""};
  EXPECT_EQ(sql_array(values), R"({"a","b,c","\"q\"","back\\slash","{}","NULL",""})");
  EXPECT_EQ(sql_array({}), "{}");
}

TEST(EmbeddedSql, HoldsEveryFileByName) {
  EXPECT_NE(sql_text("queries/feed_lock").find("for update"), std::string_view::npos);
  EXPECT_NE(sql_text("migrations/0001_facts").find("attempts_ended"), std::string_view::npos);
  EXPECT_DEATH((void)sql_text("queries/none"), "no such SQL text");
}

}  // namespace
}  // namespace muster
