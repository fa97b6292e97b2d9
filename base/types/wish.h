// Wishes for features of nodes: "ib&(a100|h100)", "[rack1*2&rack2*4]". Kept in postfix order, so
// that no depth of nesting costs stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/result.h"

namespace muster {

constexpr std::size_t kWishBytesMax = 2048;
constexpr std::size_t kWishTermsMax = 63;  // Names and operators together.
constexpr std::size_t kWishDepthMax = 16;  // Of parentheses.
constexpr std::size_t kWishPartsMax = 32;  // With counts.

enum class WishOp : std::uint8_t { kFeature, kAnd, kOr };
template <>
struct EnumNames<WishOp> {
  static constexpr std::array<std::string_view, 3> kNames{"feature", "and", "or"};
};

// A name, or an operator on the two results before it.
struct WishTerm {
  WishOp op = WishOp::kFeature;
  std::string feature;  // Of kFeature only.
  auto operator<=>(const WishTerm&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "op", self.op);
    visit(2, "feature", self.feature);
  }
};

// Empty: every node will do.
using Wish = std::vector<WishTerm>;

// So many nodes with this beside what all must have.
struct CountedWish {
  std::uint32_t nodes = 0;
  Wish wish;
};

struct ParsedWish {
  Wish all;
  std::vector<CountedWish> counted;
};

// Names are those of check_name(). "&" binds before "|". Counts stand at the top only, joined by
// "&", with or without brackets around them. kInvalid: what is wrong, and at which character.
Result<ParsedWish> parse_wish(std::string_view text);

// What came from a peer: whether it could have come from parse_wish().
Result<void> check_wish(const Wish& wish);

// wish must have passed check_wish(). features in rising order.
bool is_granted(const Wish& wish, const std::vector<std::string>& features);

// Both at once. At most kWishTermsMax terms come of it, else kLimit.
Result<Wish> both(Wish first, const Wish& second);

// When nothing but "&" is in it, its names; else nothing: then it is no plain list.
std::vector<std::string> names_when_plain(const Wish& wish);

// As people write it, with no more parentheses than it takes.
std::string to_text(const Wish& wish);

}  // namespace muster
