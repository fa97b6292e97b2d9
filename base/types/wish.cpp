// Reading, checking and granting wishes for features.
#include "base/types/wish.h"

#include <algorithm>
#include <bitset>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

Error invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

bool ends_name(char c) { return std::string_view("&|()[]* \t").find(c) != std::string_view::npos; }

// By recursion, as deep as kWishDepthMax.
class WishParser {
 public:
  explicit WishParser(std::string_view text) : text_(text) {}

  Result<ParsedWish> run() {
    if (text_.size() > kWishBytesMax)
      return invalid("longer than " + std::to_string(kWishBytesMax) + " characters");
    if (auto fine = take_top(); !fine) return fine.error();
    if (!is_end()) return unexpected();
    for (const CountedWish& part : parsed_.counted) {
      if (parsed_.all.size() + part.wish.size() >= kWishTermsMax) return too_long();
    }
    return std::move(parsed_);
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool is_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  void skip_blanks() {
    while (next() == ' ' || next() == '\t') ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  static Error at(std::size_t position, const std::string& what) {
    return invalid("at character " + std::to_string(position + 1) + ": " + what);
  }
  static Error too_long() {
    return invalid("more than " + std::to_string(kWishTermsMax) + " names and operators");
  }
  Error unexpected() const {
    if (at_ == text_.size()) return at(at_, "a feature is missing");
    const std::string shown = "\"" + escape_for_terminal(text_.substr(at_, 1)) + "\"";
    if (text_[at_] == ')') return at(at_, "there is no ( for this )");
    if (text_[at_] == ']') return at(at_, "there is no [ for this ]");
    if (text_[at_] == '*') return at(at_, "a count belongs behind a feature at the top, as in a*2");
    if (text_[at_] == '[') return at(at_, "[ ] belong around counts alone, as in [a*2&b*4]");
    return at(at_, shown + " is not expected: put & or | between features");
  }

  // A list of parts with "&" between them, each with or without a count; or an "|" of anything.
  Result<void> take_top() {
    do {
      if (accept('[')) {
        if (auto fine = take_brackets(); !fine) return fine;
        continue;
      }
      Wish wish;
      if (auto fine = take_primary(wish, 0); !fine) return fine;
      if (accept('*')) {
        if (auto fine = take_count(std::move(wish)); !fine) return fine;
        continue;
      }
      skip_blanks();
      if (next() == '|') {  // Not a list of parts: what came before is its first side.
        if (!parsed_.counted.empty()) return at(at_, "counts stand beside & only, as in [a*2&b*4]");
        return take_alternatives(std::move(wish));
      }
      if (auto fine = join(parsed_.all, std::move(wish), WishOp::kAnd); !fine) return fine;
    } while (accept('&'));
    return {};
  }

  // From the second side of an "|" on. The first is all so far and first.
  Result<void> take_alternatives(Wish first) {
    if (auto fine = join(parsed_.all, std::move(first), WishOp::kAnd); !fine) return fine;
    while (accept('|')) {
      Wish side;
      if (auto fine = take_conjunction(side, 0); !fine) return fine;
      if (auto fine = join(parsed_.all, std::move(side), WishOp::kOr); !fine) return fine;
    }
    return {};
  }

  Result<void> take_brackets() {
    const std::size_t begin = at_ - 1;
    do {
      Wish wish;
      if (auto fine = take_primary(wish, 0); !fine) return fine;
      if (!accept('*')) {
        skip_blanks();
        return at(at_, "in [ ] every feature has a count, as in [a*2&b*4]");
      }
      if (auto fine = take_count(std::move(wish)); !fine) return fine;
    } while (accept('&'));
    if (accept(']')) return {};
    if (is_end()) return at(begin, "this [ is not closed");
    return unexpected();
  }

  Result<void> take_count(Wish wish) {
    skip_blanks();
    const std::size_t begin = at_;
    while (next() >= '0' && next() <= '9') ++at_;
    auto count = parse_count(text_.substr(begin, at_ - begin), 1, 100000);
    if (!count) return at(begin, "a count from 1 to 100000 is missing behind *");
    if (parsed_.counted.size() == kWishPartsMax)
      return at(begin, "more than " + std::to_string(kWishPartsMax) + " counts");
    parsed_.counted.push_back({static_cast<std::uint32_t>(*count), std::move(wish)});
    return {};
  }

  Result<void> take_either(Wish& out, std::size_t depth) {
    do {
      Wish side;
      if (auto fine = take_conjunction(side, depth); !fine) return fine;
      if (auto fine = join(out, std::move(side), WishOp::kOr); !fine) return fine;
    } while (accept('|'));
    return {};
  }

  Result<void> take_conjunction(Wish& out, std::size_t depth) {
    do {
      Wish side;
      if (auto fine = take_primary(side, depth); !fine) return fine;
      if (auto fine = join(out, std::move(side), WishOp::kAnd); !fine) return fine;
    } while (accept('&'));
    return {};
  }

  Result<void> take_primary(Wish& out, std::size_t depth) {
    skip_blanks();
    const std::size_t begin = at_;
    if (accept('(')) {
      if (depth == kWishDepthMax)
        return at(begin,
                  "parentheses are deeper than " + std::to_string(kWishDepthMax) + " levels");
      if (auto fine = take_either(out, depth + 1); !fine) return fine;
      if (accept(')')) return {};
      return is_end() ? at(begin, "this ( is not closed") : unexpected();
    }
    while (at_ < text_.size() && !ends_name(text_[at_])) ++at_;
    if (at_ == begin) {
      if (next() == '&' || next() == '|' || next() == ')' || next() == '*')
        return at(at_, "a feature is missing before " + std::string(1, next()));
      return unexpected();
    }
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (auto fine = check_name(name); !fine) return at(begin, fine.error().message);
    out.push_back({WishOp::kFeature, std::string(name)});
    return {};
  }

  static Result<void> join(Wish& out, Wish side, WishOp op) {
    const bool is_first = out.empty();
    if (out.size() + side.size() >= kWishTermsMax) return too_long();
    out.insert(out.end(), std::make_move_iterator(side.begin()),
               std::make_move_iterator(side.end()));
    if (!is_first) out.push_back({op, ""});
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ParsedWish parsed_;
};

}  // namespace

Result<ParsedWish> parse_wish(std::string_view text) { return WishParser(text).run(); }

Result<void> check_wish(const Wish& wish) {
  if (wish.empty()) return {};
  if (wish.size() > kWishTermsMax) return fail(ErrorCode::kLimit, "too many features");
  std::size_t open = 0;
  for (const WishTerm& term : wish) {
    if (term.op == WishOp::kFeature) {
      if (auto fine = check_name(term.feature); !fine) return fine;
      ++open;
      continue;
    }
    if (!term.feature.empty() || open < 2) return invalid("features: the expression is broken");
    --open;
  }
  if (open != 1) return invalid("features: the expression is broken");
  return {};
}

bool is_granted(const Wish& wish, const std::vector<std::string>& features) {
  std::bitset<kWishTermsMax + 1> results;  // The newest at bit 0.
  for (const WishTerm& term : wish) {
    if (term.op == WishOp::kFeature) {
      results <<= 1;
      results[0] = std::binary_search(features.begin(), features.end(), term.feature);
      continue;
    }
    const bool second = results[0];
    results >>= 1;
    results[0] = term.op == WishOp::kAnd ? results[0] && second : results[0] || second;
  }
  return wish.empty() || results[0];
}

Result<Wish> both(Wish first, const Wish& second) {
  if (first.size() + second.size() >= kWishTermsMax)
    return fail(ErrorCode::kLimit,
                "more than " + std::to_string(kWishTermsMax) + " names and operators");
  const bool joined = !first.empty() && !second.empty();
  first.insert(first.end(), second.begin(), second.end());
  if (joined) first.push_back({WishOp::kAnd, ""});
  return first;
}

std::vector<std::string> names_when_plain(const Wish& wish) {
  std::vector<std::string> names;
  for (const WishTerm& term : wish) {
    if (term.op == WishOp::kOr) return {};
    if (term.op == WishOp::kFeature) names.push_back(term.feature);
  }
  return names;
}

std::string to_text(const Wish& wish) {
  struct Part {
    std::string text;
    bool is_either = false;
  };
  std::vector<Part> parts;
  for (const WishTerm& term : wish) {
    if (term.op == WishOp::kFeature) {
      parts.push_back({term.feature, false});
      continue;
    }
    MUSTER_ASSERT(parts.size() >= 2);
    const Part second = std::move(parts.back());
    parts.pop_back();
    Part& first = parts.back();
    const bool is_and = term.op == WishOp::kAnd;
    const auto side = [is_and](const Part& part) {
      return is_and && part.is_either ? "(" + part.text + ")" : part.text;
    };
    first = {side(first) + (is_and ? "&" : "|") + side(second), !is_and};
  }
  return parts.empty() ? "" : parts.back().text;
}

}  // namespace muster
