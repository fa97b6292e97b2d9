// CRC32C by table and by the SSE4.2 instruction, chosen once at run time.
#include "base/journal/crc32c.h"

#include <array>
#include <cstring>

namespace muster {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // Reflected.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ kPolynomial : crc >> 1U;
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = (crc >> 8U) ^ tables[0][crc & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load64(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::uint32_t seed,
                                                             std::string_view bytes) {
  std::uint64_t crc = ~seed;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) crc = __builtin_ia32_crc32di(crc, load64(at));
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at)
    narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
#endif

using Crc = std::uint32_t (*)(std::uint32_t, std::string_view);

Crc fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) return crc32c_sse42;
#endif
  return crc32c_by_table;
}

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t seed, std::string_view bytes) {
  std::uint32_t crc = ~seed;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t word = load64(at) ^ crc;
    crc = 0;
    for (std::size_t slice = 0; slice < 8; ++slice)
      crc ^= kTables[7 - slice][(word >> (8 * slice)) & 0xFFU];
  }
  for (; left > 0; --left, ++at)
    crc = (crc >> 8U) ^ kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xFFU];
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t seed, std::string_view bytes) {
  static const Crc kCrc = fastest();
  return kCrc(seed, bytes);
}

}  // namespace muster
