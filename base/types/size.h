// Counts and memory sizes as people type them. An error says what is wrong and where in the text;
// the caller puts the name of the option or field before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

constexpr std::uint64_t kMemoryMibMax = 1ULL << 40U;  // 1 EiB: more is a typing error.

// A whole decimal number in [min, max]. No sign, space, point or suffix.
Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t min, std::uint64_t max);

// "512" and "512M" are MiB; also K, M, G, T, P, each with or without "B" or "iB", in either case,
// and up to three decimals ("1.5T"). Rounded up to a whole MiB. Zero, negative and more than
// kMemoryMibMax are refused.
Result<std::uint64_t> parse_memory_mib(std::string_view text);

std::string memory_to_text(std::uint64_t mib);  // "512M", "1.5G", "16G": three digits that matter,
                                                // exact where one decimal is enough.

}  // namespace muster
