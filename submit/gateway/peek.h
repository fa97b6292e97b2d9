// What the gateway reads of the envelopes it passes on.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/message/request.h"
#include "base/types/result.h"

namespace muster {

// Request without its body.
struct RequestHead {
  std::uint32_t protocol = 0;
  std::uint64_t number = 0;
  Verb verb = Verb::kPing;
  std::uint32_t cost = 1;  // Of a mutating verb: 1, and one more per 1,000 jobs of a bulk submit.
};

// kInvalid or kLimit with the reason: not a Request, number 0, an unknown verb.
Result<RequestHead> peek_request(std::string_view message);

// Response without its body.
struct ResponseHead {
  std::uint64_t number = 0;
  bool more = false;
};
Result<ResponseHead> peek_response(std::string_view message);

}  // namespace muster
