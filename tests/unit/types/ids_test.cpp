// Texts of ids, and back.
#include "base/types/ids.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Ids, ElementsArePrintedAsPeopleKnowThem) {
  EXPECT_EQ(to_text(ElementKey{{17}, {0}}, false), "17");
  EXPECT_EQ(to_text(ElementKey{{17}, {3}}, true), "17_3");
}

TEST(Ids, AttemptKeysRoundTrip) {
  const AttemptKey key{{17}, {3}, {2}};
  EXPECT_EQ(to_text(key), "17.3.2");
  EXPECT_EQ(*parse_attempt_key("17.3.2"), key);
  EXPECT_EQ(parse_attempt_key("18446744073709551615.4294967295.4294967295")->element.value,
            4294967295U);
  for (const char* text : {"", "17", "17.3", "17.3.", ".3.2", "17..2", "17.3.2.1", "0.0.1",
                           "17.0.0", "17.-1.1", "17.4294967296.1", "17.0.4294967296",
                           "18446744073709551616.0.1", "17.3.2 ", "../..", "a.b.c"}) {
    EXPECT_FALSE(parse_attempt_key(text).ok()) << text;
  }
}

TEST(Ids, UuidsRoundTrip) {
  const std::string text = "0192f0c1-7b3a-7def-8123-456789abcdef";
  const auto uuid = parse_uuid(text);
  ASSERT_TRUE(uuid.ok());
  EXPECT_EQ(to_text(*uuid), text);
  EXPECT_EQ(*parse_uuid("0192F0C1-7B3A-7DEF-8123-456789ABCDEF"), *uuid);
  for (const char* bad :
       {"", "0192f0c1", "0192f0c1-7b3a-7def-8123-456789abcde",
        "0192f0c1-7b3a-7def-8123-456789abcdeg", "0192f0c1+7b3a-7def-8123-456789abcdef",
        "0192f0c17b3a-7def-8123-456789abcdef-"}) {
    EXPECT_FALSE(parse_uuid(bad).ok()) << bad;
  }
}

TEST(Ids, Hex) {
  const std::uint8_t bytes[] = {0x00, 0x1f, 0xff};
  EXPECT_EQ(hex(bytes, sizeof bytes), "001fff");
  EXPECT_EQ(hex(bytes, 0), "");
}

}  // namespace
}  // namespace muster
