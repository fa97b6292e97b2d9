// 64-bit mixing for digests and tables: the same on every machine and release. Not for secrets or
// content addresses.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

// A bijection that spreads every input bit over the whole word (the finaliser of splitmix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30U;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27U;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31U;
  return x;
}

// Order matters: combine(combine(h, a), b) differs from combine(combine(h, b), a).
constexpr std::uint64_t combine64(std::uint64_t hash, std::uint64_t value) {
  return mix64(hash + 0x9e3779b97f4a7c15ULL + mix64(value));
}

constexpr std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = combine64(seed, text.size());
  std::uint64_t word = 0;
  unsigned filled = 0;
  for (const char c : text) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << (8U * filled);
    if (++filled == 8) {
      hash = combine64(hash, word);
      word = 0;
      filled = 0;
    }
  }
  return filled == 0 ? hash : combine64(hash, word);
}

}  // namespace muster
