// Chunks: every payload comes out as it went in, and nothing hostile makes memory grow.
#include "base/link/chunk.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/link/link.h"
#include "base/types/rng.h"

namespace muster {
namespace {

std::vector<std::string> parts_of_payload(const std::string& payload, std::uint32_t id) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < parts_of(payload.size()); ++i) {
    std::string part(part_bytes(payload.size(), i), '\0');
    write_part(payload, id, i, part.data());
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

TEST(Chunks, PayloadsOfAllSizesComeOutAsTheyWentIn) {
  const std::size_t data = kLinkPartBytes - kChunkHeaderBytes;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kLinkPartBytes - 1, kLinkPartBytes, kLinkPartBytes + 1,
        data, 2 * data - 1, 2 * data, 2 * data + 1, std::size_t{1000000}, kLinkPayloadBytesMax}) {
    const std::string payload = pattern(size);
    Assembler assembler;
    std::optional<std::string> whole;
    for (const auto& part : parts_of_payload(payload, 7)) {
      ASSERT_FALSE(whole.has_value());
      EXPECT_LE(part.size(), kLinkPartBytes);
      auto taken = assembler.take(part);
      ASSERT_TRUE(taken.ok()) << size << ": " << taken.error().message;
      whole = std::move(*taken);
    }
    ASSERT_TRUE(whole.has_value()) << size;
    EXPECT_EQ(*whole, payload);
    EXPECT_TRUE(assembler.is_idle());
    EXPECT_EQ(assembler.bytes(), 0U);
  }
}

TEST(Chunks, WholePayloadsMayComeBetween) {
  Assembler assembler;
  const auto parts = parts_of_payload(pattern(3 * kLinkPartBytes), 1);
  ASSERT_TRUE(assembler.take(parts[0]).ok());
  EXPECT_EQ(**assembler.take(parts_of_payload("ping", 2)[0]), "ping");
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) ASSERT_TRUE(assembler.take(parts[i]).ok());
  EXPECT_EQ((*assembler.take(parts.back()))->size(), 3 * kLinkPartBytes);
}

TEST(Chunks, OutOfOrderRepeatedForeignAndOverlongAreRefused) {
  const auto parts = parts_of_payload(pattern(3 * kLinkPartBytes), 1);
  const auto foreign = parts_of_payload(pattern(3 * kLinkPartBytes), 2);
  const auto longer = parts_of_payload(pattern(4 * kLinkPartBytes), 1);
  for (const auto& second : {parts[2], foreign[1], longer[1], std::string(), std::string("\1", 1),
                             std::string(100, '\2'), parts[1].substr(0, kChunkHeaderBytes)}) {
    Assembler assembler;
    ASSERT_TRUE(assembler.take(parts[0]).ok());
    EXPECT_FALSE(assembler.take(second).ok());
    EXPECT_EQ(assembler.bytes(), 0U);
  }
  Assembler assembler;
  EXPECT_FALSE(assembler.take(parts[1]).ok());
  std::string fat = parts[2];
  ASSERT_TRUE(assembler.take(parts[0]).ok());
  ASSERT_TRUE(assembler.take(parts[1]).ok());
  ASSERT_TRUE(assembler.take(parts[2]).ok());
  fat[5] = 3;  // Index 3, with more bytes than are left.
  EXPECT_FALSE(assembler.take(fat).ok());
}

TEST(Chunks, AnnouncedSizeIsBoundedAndNotBelieved) {
  std::string huge(kChunkHeaderBytes + 1, '\0');
  huge[0] = 1;
  for (int i = 9; i < 13; ++i) huge[static_cast<std::size_t>(i)] = '\xff';
  Assembler assembler;
  const auto taken = assembler.take(huge);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kLimit);
  huge[12] = 1;  // 32 MiB less a byte announced, one byte sent.
  ASSERT_TRUE(assembler.take(huge).ok());
  EXPECT_EQ(assembler.bytes(), 1U);
}

TEST(Chunks, RandomPartsNeverHoldMoreThanArrived) {
  Assembler assembler;
  Rng rng(42);
  std::size_t arrived = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string part(rng.next() % 40, '\0');
    for (char& c : part) c = static_cast<char>(rng.next() % 3);
    arrived += part.size();
    const auto taken = assembler.take(part);
    ASSERT_LE(assembler.bytes(), arrived);
  }
}

}  // namespace
}  // namespace muster
