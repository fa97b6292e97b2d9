// The chunk layer: parts of any kind in any order, in memory bounded by what arrived.
#include <algorithm>
#include <cstdint>

#include "base/link/chunk.h"
#include "base/link/link.h"

// Input: one length byte before each part.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  muster::Assembler assembler;
  std::size_t arrived = 0;
  for (std::size_t at = 0; at < input.size();) {
    const auto length = static_cast<unsigned char>(input[at]);
    const std::string_view part = input.substr(at + 1, length);
    at += 1U + part.size();
    arrived += part.size();
    const auto taken = assembler.take(part);
    MUSTER_ASSERT(assembler.bytes() <= arrived);
    if (!taken) {
      MUSTER_ASSERT(assembler.bytes() == 0);
    } else if (taken->has_value()) {
      MUSTER_ASSERT((*taken)->size() <= std::max(arrived, part.size()));
    }
  }
  return 0;
}
