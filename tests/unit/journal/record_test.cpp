// CRC32C and single records.
#include "base/journal/record.h"

#include <gtest/gtest.h>

#include <random>

#include "base/journal/crc32c.h"

namespace muster {
namespace {

TEST(Crc32c, KnownAnswer) {
  EXPECT_EQ(crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c_by_table(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(0, ""), 0U);
}

TEST(Crc32c, HardwareEqualsTableAtEveryLengthAndAlignment) {
  std::mt19937_64 random(1);
  std::string bytes(300, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t size = 0; from + size <= bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(from, size);
      ASSERT_EQ(crc32c(7, part), crc32c_by_table(7, part));
    }
  }
}

TEST(Crc32c, IsChained) { EXPECT_EQ(crc32c(crc32c(0, "12345"), "6789"), crc32c(0, "123456789")); }

TEST(Record, RoundTrip) {
  std::string buffer;
  RecordChain writer{0x12345678U, 77, 9};
  const RecordChain reader = writer;
  append_record(buffer, {9, 3, 8, 5, 2}, "payload", writer);
  const RecordCheck check = check_record(buffer, reader);
  ASSERT_EQ(check.state, RecordState::kGood);
  EXPECT_EQ(check.record.payload, "payload");
  EXPECT_EQ(check.record.header.seq, 9U);
  EXPECT_EQ(check.record.header.epoch, 3U);
  EXPECT_EQ(check.record.header.durable_seq, 8U);
  EXPECT_EQ(check.record.header.type, 5U);
  EXPECT_EQ(check.record.header.version, 2U);
  EXPECT_EQ(check.record.header.previous_crc, 77U);
  const RecordChain next = after(reader, check.record);
  EXPECT_EQ(next.seq_next, writer.seq_next);
  EXPECT_EQ(next.previous_crc, writer.previous_crc);
}

TEST(Record, EmptyPayload) {
  std::string buffer;
  RecordChain chain{1, 0, 1};
  append_record(buffer, {1, 1, 0, 0, 0}, "", chain);
  EXPECT_EQ(buffer.size(), sizeof(RecordHeader));
  EXPECT_EQ(check_record(buffer, {1, 0, 1}).state, RecordState::kGood);
}

TEST(Record, EveryCutIsShort) {
  std::string buffer;
  RecordChain chain{1, 0, 1};
  append_record(buffer, {1, 1, 0, 0, 0}, "some bytes", chain);
  EXPECT_EQ(check_record("", {1, 0, 1}).state, RecordState::kEnd);
  for (std::size_t size = 1; size < buffer.size(); ++size) {
    const RecordCheck check = check_record(std::string_view(buffer).substr(0, size), {1, 0, 1});
    ASSERT_EQ(check.state, RecordState::kShort) << size;
    ASSERT_GT(check.needed, size);
  }
}

TEST(Record, EveryBitFlipIsSeen) {
  std::string buffer;
  RecordChain chain{0xABCDEF01U, 5, 1};
  append_record(buffer, {1, 1, 0, 0, 0}, "some bytes", chain);
  for (std::size_t bit = 0; bit < buffer.size() * 8; ++bit) {
    std::string damaged = buffer;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(check_record(damaged, {0xABCDEF01U, 5, 1}).state, RecordState::kGood) << bit;
  }
}

TEST(Record, TellsWhatIsWrong) {
  std::string buffer;
  RecordChain chain{3, 4, 10};
  append_record(buffer, {10, 1, 9, 0, 0}, "payload", chain);
  EXPECT_EQ(check_record(buffer, {3, 4, 11}).state, RecordState::kBadChain);   // Sequence.
  EXPECT_EQ(check_record(buffer, {3, 5, 10}).state, RecordState::kBadChain);   // Predecessor.
  EXPECT_EQ(check_record(buffer, {4, 4, 10}).state, RecordState::kBadHeader);  // Salt.
  buffer.back() = '?';
  EXPECT_EQ(check_record(buffer, {3, 4, 10}).state, RecordState::kBadPayload);
  EXPECT_EQ(check_record(std::string(100, '\0'), {3, 4, 10}).state, RecordState::kEnd);
  EXPECT_EQ(check_record(std::string(100, 'x'), {3, 4, 10}).state, RecordState::kBadHeader);
}

TEST(RecordDeath, LimitsAreAsserted) {
  std::string buffer;
  RecordChain chain{1, 0, 1};
  EXPECT_DEATH(append_record(buffer, {2, 1, 0, 0, 0}, "x", chain), "seq_next");
  const std::string big(kRecordBytesMax + 1, 'x');
  EXPECT_DEATH(append_record(buffer, {1, 1, 0, 0, 0}, big, chain), "kRecordBytesMax");
}

}  // namespace
}  // namespace muster
