// What a fuzz input does to a sound file: checksums keep blind mutations out, so the input is read
// as edits instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace muster {

// Takes numbers off the front of an input; zeros when it is used up.
class Digits {
 public:
  explicit Digits(std::string_view input) : input_(input) {}
  bool is_empty() const { return input_.empty(); }
  std::string_view rest() const { return input_; }
  std::uint8_t byte() {
    if (input_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(input_.front());
    input_.remove_prefix(1);
    return value;
  }
  std::size_t below(std::size_t end) {
    const std::size_t high = byte();
    const std::size_t low = byte();
    return end == 0 ? 0 : (high << 8U | low) % end;
  }

 private:
  std::string_view input_;
};

// Overwrites, moves, cuts and doubles bytes of `file` as the input says.
inline void edit(std::string& file, Digits& digits) {
  while (!digits.is_empty() && !file.empty() && file.size() < 1U << 16U) {
    const std::uint8_t what = digits.byte() % 6;
    const std::size_t at = digits.below(file.size());
    const std::size_t size = std::min<std::size_t>(digits.byte(), file.size() - at);
    const std::size_t other = digits.below(file.size() - size + 1);
    if (what == 0) file[at] = static_cast<char>(digits.byte());
    if (what == 1) std::memset(file.data() + at, 0, size);
    if (what == 2) file.resize(at);
    if (what == 3) file.insert(other, file.substr(at, size));
    if (what == 4) std::memmove(file.data() + other, file.data() + at, size);
    if (what == 5) file.append(size, '\0');
  }
}

}  // namespace muster
