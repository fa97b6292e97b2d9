// Token buckets.
#include "submit/gateway/rate.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::int64_t kForgetEveryMs = 10000;

}  // namespace

void RateLimiter::fill(Bucket& bucket, std::int64_t now_ms) const {
  const std::int64_t full = std::int64_t{limit_.burst} * 1000;
  const std::int64_t passed = std::clamp<std::int64_t>(now_ms - bucket.filled_ms, 0, 3600000);
  bucket.milli_tokens = std::min(full, bucket.milli_tokens + passed * limit_.per_second);
  bucket.filled_ms = now_ms;
}

std::uint32_t RateLimiter::take(Uid uid, std::uint32_t cost, std::int64_t now_ms) {
  forget_full(now_ms);
  const std::int64_t full = std::int64_t{limit_.burst} * 1000;
  Bucket& bucket = buckets_.try_emplace(uid, Bucket{full, now_ms}).first->second;
  fill(bucket, now_ms);
  const std::int64_t price = std::int64_t{cost} * 1000;
  const std::int64_t needed = std::min(price, full);
  if (bucket.milli_tokens >= needed) {
    bucket.milli_tokens -= price;
    return 0;
  }
  const std::int64_t per_ms = std::max<std::int64_t>(1, limit_.per_second);
  const std::int64_t wait_ms = (needed - bucket.milli_tokens + per_ms - 1) / per_ms;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(wait_ms, 1, 60000));
}

void RateLimiter::forget_full(std::int64_t now_ms) {
  if (now_ms < forgot_ms_ + kForgetEveryMs) return;
  forgot_ms_ = now_ms;
  std::erase_if(buckets_, [&](const auto& item) {
    Bucket bucket = item.second;
    fill(bucket, now_ms);
    return bucket.milli_tokens == std::int64_t{limit_.burst} * 1000;
  });
}

}  // namespace muster
