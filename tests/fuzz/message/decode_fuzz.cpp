// One decoder (FUZZ_TYPE): whatever it takes, it writes and takes again as the same bytes and shows
// as JSON.
#include <cstdint>

#include "base/message/codec.h"
#include "base/message/json.h"
#include "base/message/request.h"
#include "base/message/worker.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto decoded = muster::decode<muster::FUZZ_TYPE>(bytes);
  if (!decoded) {
    MUSTER_ASSERT(!decoded.error().message.empty() && decoded.error().message.size() < 1000);
    return 0;
  }
  const std::string once = muster::encode(*decoded);
  const auto again = muster::decode<muster::FUZZ_TYPE>(once);
  MUSTER_ASSERT(again.ok());
  MUSTER_ASSERT(muster::encode(*again) == once);
  MUSTER_ASSERT(!muster::to_json(*again).empty());
  return 0;
}
