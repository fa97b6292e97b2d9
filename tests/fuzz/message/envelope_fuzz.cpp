// What the gateway reads of a request and of a response agrees with the full decoders.
#include <cstdint>

#include "base/message/codec.h"
#include "submit/gateway/peek.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto head = muster::peek_request(bytes);
  const auto request = muster::decode<muster::Request>(bytes);
  if (head && request) {
    MUSTER_ASSERT(head->number == request->number && head->number != 0);
    MUSTER_ASSERT(head->verb == request->verb);
    MUSTER_ASSERT(head->cost >= 1 && head->cost <= 70);
  }
  const auto response_head = muster::peek_response(bytes);
  const auto response = muster::decode<muster::Response>(bytes);
  if (response_head && response) MUSTER_ASSERT(response_head->number == response->number);
  return 0;
}
