// From a product name to a word people type.
#include "plugins/gpu_nvml/gpu_type.h"

#include <algorithm>
#include <array>
#include <vector>

namespace nvml {
namespace {

constexpr std::size_t kTypeBytesMax = 24;
constexpr std::array<std::string_view, 5> kBrands{"nvidia", "tesla", "geforce", "quadro",
                                                  "graphics"};
constexpr std::array<std::string_view, 3> kFamilies{"rtx", "gtx", "titan"};
constexpr std::array<std::string_view, 3> kSuffixes{"ti", "super", "ada"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Lower case words of letters and digits.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (is_plain) {
      words.back().push_back(lower);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

std::string gpu_type(std::string_view product_name) {
  std::vector<std::string> words = words_of(product_name);
  std::erase_if(words, [](const std::string& word) { return has(kBrands, word); });
  if (words.empty()) return "gpu";
  std::string type = words[0];
  std::size_t used = 1;
  if (has(kFamilies, words[0]) && words.size() > 1) {
    // A-series workstation cards go by their number alone.
    const bool has_own_letter = words[1][0] == 'a' && words[1].size() > 1;
    type = has_own_letter ? words[1] : words[0] + words[1];
    used = 2;
  }
  for (std::size_t i = used; i < words.size() && has(kSuffixes, words[i]); ++i) type += words[i];
  return type.substr(0, kTypeBytesMax);
}

}  // namespace nvml
