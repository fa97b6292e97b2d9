// The event of usage that an administrator set. As those of event.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"

namespace muster {

struct UsageSetLine {
  std::string account;
  Uid uid;
  std::uint64_t amount = 0;  // As Usage counts: weighted milli-GPU × milliseconds.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "account", self.account);
    visit(2, "uid", self.uid);
    visit(3, "amount", self.amount);
  }
};
// What these used before, whatever it was, is this much, used now.
struct UsageSet {
  static constexpr int kType = 70;
  static constexpr std::string_view kName = "UsageSet";
  std::vector<UsageSetLine> lines;
  std::string by;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "lines", self.lines);
    visit(2, "by", self.by);
  }
};

}  // namespace muster
