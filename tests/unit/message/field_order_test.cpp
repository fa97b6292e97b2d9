// Fields of a map come in any order, twice, or are unknown: the value is the same.
#include <gtest/gtest.h>

#include "base/message/codec.h"
#include "base/message/request.h"

namespace muster {
namespace {

struct Field {
  std::uint64_t number;
  std::uint64_t value;
};

std::string map_of(const std::vector<Field>& fields) {
  std::string out;
  Packer packer(out);
  packer.map(fields.size());
  for (const Field& field : fields) {
    packer.unsigned_integer(field.number);
    packer.unsigned_integer(field.value);
  }
  return out;
}

struct Three {
  std::uint32_t one = 10;
  std::uint32_t two = 20;
  std::uint32_t three = 30;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "one", self.one);
    visit(2, "two", self.two);
    visit(3, "three", self.three);
  }
};

void expect(const std::vector<Field>& fields, std::uint32_t one, std::uint32_t two,
            std::uint32_t three) {
  const auto decoded = decode<Three>(map_of(fields));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->one, one);
  EXPECT_EQ(decoded->two, two);
  EXPECT_EQ(decoded->three, three);
}

TEST(FieldOrder, DoesNotMatter) {
  expect({{1, 1}, {2, 2}, {3, 3}}, 1, 2, 3);
  expect({{3, 3}, {2, 2}, {1, 1}}, 1, 2, 3);
  expect({{2, 2}, {1, 1}, {3, 3}}, 1, 2, 3);
  expect({{3, 3}, {1, 1}, {2, 2}}, 1, 2, 3);
}

TEST(FieldOrder, AbsentFieldsKeepTheirDefault) {
  expect({}, 10, 20, 30);
  expect({{2, 2}}, 10, 2, 30);
  expect({{1, 1}, {3, 3}}, 1, 20, 3);
  expect({{3, 3}, {1, 1}}, 1, 20, 3);
}

TEST(FieldOrder, UnknownFieldsAreSkippedWhereverTheyAre) {
  expect({{9, 9}, {1, 1}, {2, 2}, {3, 3}}, 1, 2, 3);
  expect({{0, 9}, {1, 1}, {2, 2}, {3, 3}}, 1, 2, 3);
  expect({{1, 1}, {9, 9}, {2, 2}, {3, 3}, {10, 9}}, 1, 2, 3);
  expect({{1, 1}, {2, 2}, {3, 3}, {9, 9}}, 1, 2, 3);
}

TEST(FieldOrder, TheLastOfTwoCounts) {
  expect({{1, 1}, {1, 7}, {2, 2}, {3, 3}}, 7, 2, 3);
  expect({{1, 1}, {2, 2}, {3, 3}, {1, 7}}, 7, 2, 3);
}

TEST(FieldOrder, AWrongTypeIsNamedWhereverItIs) {
  for (const bool first : {true, false}) {
    std::string out;
    Packer packer(out);
    packer.map(2);
    packer.unsigned_integer(first ? 2 : 3);
    if (first) packer.string("x");
    if (!first) packer.unsigned_integer(3);
    packer.unsigned_integer(first ? 3 : 2);
    if (first) packer.unsigned_integer(3);
    if (!first) packer.string("x");
    const auto decoded = decode<Three>(out);
    ASSERT_FALSE(decoded.ok());
    EXPECT_NE(decoded.error().message.find("two"), std::string::npos) << decoded.error().message;
  }
}

}  // namespace
}  // namespace muster
