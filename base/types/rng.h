// Random numbers from a seed, the same on every machine: for the simulator, tests and jitter. Not
// for secrets.
#pragma once

#include <array>
#include <cstdint>

#include "base/types/hash.h"
#include "base/types/result.h"

namespace muster {

// xoshiro256**, its state filled by splitmix64.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      word = mix64(seed);
    }
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // 0 … bound-1, every one equally likely. bound must not be 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    MUSTER_ASSERT(bound != 0);
    const std::uint64_t biased =
        (0 - bound) % bound;  // So many of the lowest results would favour small numbers.
    std::uint64_t drawn = next();
    while (drawn < biased) drawn = next();
    return drawn % bound;
  }

  // low … high, both included.
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    MUSTER_ASSERT(low <= high);
    const std::uint64_t span = high - low + 1;
    return span == 0 ? next() : low + below(span);
  }

  // True milli times in a thousand.
  constexpr bool chance(std::uint32_t milli) { return below(1000) < milli; }

  // Another stream that does not depend on how much is drawn from this one later.
  constexpr Rng fork(std::uint64_t label) { return Rng(combine64(next(), label)); }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, unsigned by) {
    return (x << by) | (x >> (64U - by));
  }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace muster
