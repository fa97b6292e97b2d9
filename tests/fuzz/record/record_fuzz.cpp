// A journal record: no bytes may crash the decoder or its JSON, and what is read is written and
// read again as the same.
#include <cstdint>

#include "controller/record/event_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const Result<Record> record =
      decode_record(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!record) return 0;
  static_cast<void>(record_to_json(*record));
  const std::string written = encode_record(*record);
  const Result<Record> again = decode_record(written);
  MUSTER_ASSERT(again.ok() && encode_record(*again) == written);
  return 0;
}
