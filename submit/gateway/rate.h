// How often one user may ask: a token bucket per uid. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <map>

#include "base/types/ids.h"

namespace muster {

struct RateLimit {
  std::uint32_t per_second = 1000;
  std::uint32_t burst = 5000;
};

class RateLimiter {
 public:
  explicit RateLimiter(RateLimit limit) : limit_(limit) {}

  // 0: go ahead, cost is taken. Else after how many milliseconds to try again; nothing is taken. A
  // cost above the burst needs a full bucket and is paid off afterwards.
  std::uint32_t take(Uid uid, std::uint32_t cost, std::int64_t now_ms);

 private:
  struct Bucket {
    std::int64_t milli_tokens = 0;
    std::int64_t filled_ms = 0;
  };
  void forget_full(std::int64_t now_ms);
  void fill(Bucket& bucket, std::int64_t now_ms) const;

  RateLimit limit_;
  std::map<Uid, Bucket> buckets_;  // Only of those whose bucket is not full.
  std::int64_t forgot_ms_ = 0;
};

}  // namespace muster
