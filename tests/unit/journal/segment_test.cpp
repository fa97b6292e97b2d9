// Segments: clean ends, torn tails and damage are told apart; no flipped byte goes unseen.
#include "base/journal/segment.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace muster {
namespace {

constexpr std::uint32_t kSalt = 0xC0FFEE11U;

std::string payload_of(std::uint64_t seq) {
  return "record " + std::to_string(seq) + std::string(seq % 37, '.');
}

// A segment of batches: each entry is the number of records that one sync made durable together.
struct Built {
  std::string bytes;
  std::vector<std::size_t> offsets;  // Of each record; then the end.
};

Built build(const std::vector<std::uint64_t>& batches, std::size_t zeros, std::uint64_t first = 1) {
  SegmentHeader header;
  header.salt = kSalt;
  header.seq_first = first;
  header.previous_crc = first == 1 ? 0 : 99;
  Built built;
  append_segment_header(built.bytes, header);
  RecordChain chain = header.chain();
  for (const std::uint64_t batch : batches) {
    const std::uint64_t durable = chain.seq_next - 1;
    for (std::uint64_t i = 0; i < batch; ++i) {
      built.offsets.push_back(built.bytes.size());
      const std::uint64_t seq = chain.seq_next;
      append_record(built.bytes, {seq, 1, durable, 1, 1}, payload_of(seq), chain);
    }
  }
  built.offsets.push_back(built.bytes.size());
  built.bytes.append(zeros, '\0');
  return built;
}

struct Outcome {
  std::uint64_t records = 0;
  SegmentEnd end;
};

// Reads all; every record given must be the one that was written.
Outcome read_all(const std::string& bytes) {
  Outcome outcome;
  Result<SegmentReader> reader = SegmentReader::open(bytes);
  EXPECT_TRUE(reader.ok());
  if (!reader.ok()) return outcome;
  std::uint64_t seq = reader->header().seq_first;
  while (const std::optional<RecordView> record = reader->next()) {
    EXPECT_EQ(record->header.seq, seq);
    EXPECT_EQ(record->payload, payload_of(seq));
    ++seq;
    ++outcome.records;
  }
  outcome.end = reader->end();
  return outcome;
}

TEST(Segment, CleanEnds) {
  for (const std::size_t zeros : {0U, 1U, 20U, 48U, 5000U}) {
    const Built built = build({1, 3, 2}, zeros);
    const Outcome outcome = read_all(built.bytes);
    EXPECT_EQ(outcome.records, 6U);
    EXPECT_EQ(outcome.end.kind, SegmentEndKind::kClean);
    EXPECT_EQ(outcome.end.offset, built.offsets.back());
    EXPECT_EQ(outcome.end.seq_next, 7U);
  }
}

TEST(Segment, EmptyIsClean) {
  const Outcome outcome = read_all(build({}, 4096, 500).bytes);
  EXPECT_EQ(outcome.records, 0U);
  EXPECT_EQ(outcome.end.kind, SegmentEndKind::kClean);
  EXPECT_EQ(outcome.end.seq_next, 500U);
}

// Wherever the last batch is cut off, the whole records before the cut are given and the rest is
// torn.
TEST(Segment, EveryCutOfTheLastBatchIsTornOrClean) {
  const Built built = build({2, 2, 3}, 0);
  for (std::size_t cut = built.offsets[4]; cut < built.bytes.size(); ++cut) {
    std::string bytes = built.bytes.substr(0, cut);
    bytes.append(3000, '\0');
    const Outcome outcome = read_all(bytes);
    std::size_t whole = 0;
    while (built.offsets[whole + 1] <= cut) ++whole;
    ASSERT_EQ(outcome.records, whole) << cut;
    ASSERT_EQ(outcome.end.offset, built.offsets[whole]);
    const bool is_clean = built.offsets[whole] == cut;
    ASSERT_EQ(outcome.end.kind, is_clean ? SegmentEndKind::kClean : SegmentEndKind::kTorn) << cut;
  }
}

// Pages of an unsynced batch may arrive in any order: a later record of the same batch proves
// nothing.
TEST(Segment, HoleInTheLastBatchIsTorn) {
  const Built built = build({4, 5}, 1000);
  for (std::size_t record = 4; record < 9; ++record) {
    std::string bytes = built.bytes;
    bytes.replace(built.offsets[record], 48, 48, '\0');
    const Outcome outcome = read_all(bytes);
    EXPECT_EQ(outcome.records, record);
    EXPECT_EQ(outcome.end.kind, SegmentEndKind::kTorn);
    EXPECT_EQ(outcome.end.offset, built.offsets[record]);
  }
}

TEST(Segment, DamageBeforeALaterBatchIsDamage) {
  const Built built = build({4, 5, 1}, 1000);
  for (std::size_t record = 0; record < 9; ++record) {
    for (const std::size_t into : {0U, 8U, 30U, 50U}) {
      std::string bytes = built.bytes;
      bytes[built.offsets[record] + into] ^= 0x40;
      const Outcome outcome = read_all(bytes);
      ASSERT_EQ(outcome.records, record);
      ASSERT_EQ(outcome.end.kind, SegmentEndKind::kDamaged);
      ASSERT_EQ(outcome.end.offset, built.offsets[record]);
      ASSERT_EQ(outcome.end.seq_next, record + 1);
      const bool is_in_first_batch = record < 4;
      ASSERT_EQ(outcome.end.seq_proof,
                is_in_first_batch ? std::max(record + 2, std::size_t{5}) : 10U);
      ASSERT_EQ(outcome.end.offset_proof, built.offsets[outcome.end.seq_proof - 1]);
    }
  }
}

TEST(Segment, ZeroedSectorsInTheMiddleAreDamage) {
  const Built built = build({100, 100, 100}, 1000);
  std::string bytes = built.bytes;
  bytes.replace(2048, 512, 512, '\0');
  EXPECT_EQ(read_all(bytes).end.kind, SegmentEndKind::kDamaged);
}

TEST(Segment, MissingOrRepeatedRecordIsDamage) {
  const Built built = build({1, 1, 1, 1}, 1000);
  std::string missing = built.bytes;
  missing.erase(built.offsets[1], built.offsets[2] - built.offsets[1]);
  Outcome outcome = read_all(missing);
  EXPECT_EQ(outcome.records, 1U);
  EXPECT_EQ(outcome.end.kind, SegmentEndKind::kDamaged);
  EXPECT_EQ(outcome.end.seq_proof, 3U);

  std::string repeated = built.bytes;
  repeated.insert(built.offsets[2], built.bytes, built.offsets[1],
                  built.offsets[2] - built.offsets[1]);
  outcome = read_all(repeated);
  EXPECT_EQ(outcome.records, 2U);
  EXPECT_EQ(outcome.end.kind, SegmentEndKind::kDamaged);
  EXPECT_EQ(outcome.end.offset, built.offsets[2]);
}

// A payload that holds the bytes of a record must not pass for one: it cannot know the salt.
TEST(Segment, ForgedRecordInATornPayloadIsNotBelieved) {
  std::string forged;
  RecordChain other{1234, 0, 50};
  append_record(forged, {50, 1, 49, 1, 1}, "forged", other);
  SegmentHeader header;
  header.salt = kSalt;
  std::string bytes;
  append_segment_header(bytes, header);
  RecordChain chain = header.chain();
  append_record(bytes, {1, 1, 0, 1, 1}, std::string(5000, 'x') + forged + forged, chain);
  bytes[sizeof(SegmentHeader)] = 0;
  const Outcome outcome = read_all(bytes);
  EXPECT_EQ(outcome.end.kind, SegmentEndKind::kTorn);
}

void expect_flip_is_seen(const Built& built, std::size_t at, int bit) {
  std::string bytes = built.bytes;
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
  const Outcome outcome = read_all(bytes);
  const bool is_tail = at >= built.offsets[built.offsets.size() - 2];
  ASSERT_EQ(outcome.end.kind, is_tail ? SegmentEndKind::kTorn : SegmentEndKind::kDamaged) << at;
  ASSERT_LE(outcome.end.offset, at);
}

// F09: damage before the last batch is named, exactly; damage in or after it is told as a torn
// tail; never does a wrong record come out.
TEST(Segment, EveryFlippedByteOfASmallSegmentIsSeen) {
  std::vector<std::uint64_t> batches(60, 2);
  batches.push_back(1);
  const Built built = build(batches, 500);
  for (std::size_t at = sizeof(SegmentHeader); at < built.bytes.size(); ++at) {
    expect_flip_is_seen(built, at, static_cast<int>(at % 8));
    if (HasFatalFailure()) return;
  }
}

// Reading a whole MiB for each of its bytes would be quadratic. A reader's state depends only on
// the record at hand and, after a bad one, on what follows: each byte is judged in its record, and
// whole files by sample.
TEST(Segment, EveryFlippedByteOfAMebibyteIsSeen) {
  std::vector<std::uint64_t> batches(700, 20);
  batches.push_back(1);
  Built built = build(batches, 0);
  ASSERT_GT(built.bytes.size(), 1U << 20U);
  built.bytes.append(4096, '\0');
  SegmentHeader header;
  header.salt = kSalt;
  RecordChain chain = header.chain();
  for (std::size_t record = 0; record + 1 < built.offsets.size(); ++record) {
    std::string bytes = built.bytes.substr(built.offsets[record],
                                           built.offsets[record + 1] - built.offsets[record]);
    const RecordCheck sound = check_record(bytes, chain);
    ASSERT_EQ(sound.state, RecordState::kGood);
    const RecordChain next = after(chain, sound.record);
    for (char& byte : bytes) {
      byte = static_cast<char>(byte ^ (1 << (record % 8)));
      ASSERT_NE(check_record(bytes, chain).state, RecordState::kGood);
      byte = static_cast<char>(byte ^ (1 << (record % 8)));
    }
    chain = next;
  }
  std::mt19937_64 random(9);
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
    const std::size_t records = built.bytes.size() - sizeof(SegmentHeader);
    expect_flip_is_seen(built, sizeof(SegmentHeader) + random() % records,
                        static_cast<int>(random() % 8));
  }
}

TEST(Segment, EveryFlippedByteOfAHeaderIsSeen) {
  const Built built = build({1}, 0);
  for (std::size_t bit = 0; bit < sizeof(SegmentHeader) * 8; ++bit) {
    std::string bytes = built.bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(SegmentReader::open(bytes).ok()) << bit;
  }
}

TEST(Segment, HeaderErrors) {
  EXPECT_EQ(SegmentReader::open("").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(SegmentReader::open(std::string(56, '\0')).error().code, ErrorCode::kCorrupt);
  SegmentHeader header;
  header.version = kJournalVersion + 1;
  std::string bytes;
  append_segment_header(bytes, header);
  const Result<SegmentReader> newer = SegmentReader::open(bytes);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, ErrorCode::kInvalid);
  EXPECT_NE(newer.error().message.find("newer release"), std::string::npos);
  header.version = kJournalVersion;
  header.seq_first = 0;
  bytes.clear();
  append_segment_header(bytes, header);
  EXPECT_FALSE(SegmentReader::open(bytes).ok());
}

TEST(Segment, FileNames) {
  EXPECT_EQ(segment_file_name(1), "segment-00000000000000000001");
  EXPECT_EQ(parse_segment_file_name(segment_file_name(1234567)), 1234567U);
  EXPECT_EQ(parse_segment_file_name(segment_file_name(UINT64_MAX)), UINT64_MAX);
  for (const char* bad :
       {"", "segment-", "segment-1", "segment-0000000000000000000x", "segment-00000000000000000000",
        "segment-99999999999999999999", "segment-000000000000000000010", "reserve"}) {
    EXPECT_FALSE(parse_segment_file_name(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster
