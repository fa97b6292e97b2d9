// Envelopes, decoded strictly, bodies left alone.
#include "submit/gateway/peek.h"

#include "base/message/codec.h"

namespace muster {
namespace {

DecodeLimits envelope_limits() {
  DecodeLimits limits;
  limits.array_max = 16;
  limits.map_max = 64;
  limits.depth_max = 4;
  limits.string_max = 41U << 20U;
  return limits;
}

struct RequestFields {
  std::uint32_t protocol = 0;
  std::uint64_t number = 0;
  Verb verb = Verb::kPing;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "protocol", self.protocol);
    visit(2, "number", self.number);
    visit(3, "verb", self.verb);
  }
};

struct ResponseFields {
  std::uint64_t number = 0;
  bool more = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "number", self.number);
    visit(7, "more", self.more);
  }
};

// The body of the request that root is.
std::string_view body_of(ValueView root) {
  constexpr std::uint64_t kBody = 6;
  for (std::size_t i = 0; i < root.size(); ++i) {
    std::uint64_t field = 0;
    std::string_view body;
    if (root.key(i).read(field) && field == kBody && root.value(i).read(body)) return body;
  }
  return {};
}

// How many jobs a SubmitBody has, read off its first bytes: a map whose first field is the array of
// jobs, as every client of ours writes it. Whoever writes it otherwise pays for the largest batch.
std::uint32_t jobs_announced(std::string_view body) {
  const auto byte = [&](std::size_t at) -> std::uint32_t {
    return at < body.size() ? static_cast<unsigned char>(body[at]) : 0;
  };
  const bool is_small_map = (byte(0) & 0xf0U) == 0x80;
  if (!is_small_map || byte(1) != 1) return kBulkJobsMax;
  if ((byte(2) & 0xf0U) == 0x90) return byte(2) & 0x0fU;
  if (byte(2) == 0xdc) return byte(3) << 8U | byte(4);
  return kBulkJobsMax;
}

}  // namespace

Result<RequestHead> peek_request(std::string_view message) {
  auto decoded = Decoded::parse(message, envelope_limits());
  if (!decoded) return decoded.error();
  auto fields = decode<RequestFields>(decoded->root());
  if (!fields) return fields.error();
  if (fields->number == 0) return fail(ErrorCode::kInvalid, "message: request number 0");
  RequestHead head{fields->protocol, fields->number, fields->verb, 1};
  if (head.verb == Verb::kSubmit) head.cost += jobs_announced(body_of(decoded->root())) / 1000;
  return head;
}

Result<ResponseHead> peek_response(std::string_view message) {
  auto fields = decode<ResponseFields>(message, envelope_limits());
  if (!fields) return fields.error();
  return ResponseHead{fields->number, fields->more};
}

}  // namespace muster
