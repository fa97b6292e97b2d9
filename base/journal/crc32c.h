// CRC32C (Castagnoli), chained: the checksum of everything the journal puts on disk.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

// The checksum of `bytes` continued from `seed` (0, or the result for the bytes before). Uses
// SSE4.2 where there.
std::uint32_t crc32c(std::uint32_t seed, std::string_view bytes);

// The same by table: the reference that the fast one is checked against.
std::uint32_t crc32c_by_table(std::uint32_t seed, std::string_view bytes);

}  // namespace muster
