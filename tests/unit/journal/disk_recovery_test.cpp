// Restarts on every kind of end: torn tails are cut and told, damage and missing files are refused
// by name.
#include <gtest/gtest.h>

#include "controller/host/disk.h"
#include "tests/unit/journal/scratch.h"

namespace muster {
namespace {

std::string payload_of(std::uint64_t seq) { return "record " + std::to_string(seq); }

// A journal written by hand: one segment per entry, of batches of one record; nothing preallocated.
class DiskRecovery : public testing::Test {
 protected:
  DiskRecovery() {
    std::filesystem::create_directories(journal());
    options.directory = scratch.path();
    options.segment_bytes = 1U << 20U;
    options.free_bytes_min = 0;
    options.blobs.pack_bytes = 2U << 20U;
    options.blobs.room_bytes = 1U << 20U;
    options.report = [this](const std::string& line) { reported += line + "\n"; };
    header.cluster[3] = 9;
  }

  std::string journal() const { return scratch.path() + "/journal"; }
  std::string path_of(std::uint64_t first) const {
    return journal() + "/" + segment_file_name(first);
  }

  // Records [first, end) in batches of `batch`.
  std::string segment(std::uint64_t first, std::uint64_t end, std::uint64_t batch = 1) {
    header.seq_first = first;
    header.salt += 17;
    header.previous_crc = chain.previous_crc;
    std::string bytes;
    append_segment_header(bytes, header);
    chain = header.chain();
    offsets.clear();
    for (std::uint64_t seq = first; seq < end; ++seq) {
      offsets.push_back(bytes.size());
      const std::uint64_t durable = first + (seq - first) / batch * batch - 1;
      append_record(bytes, {seq, 4, durable, 1, 1}, payload_of(seq), chain);
    }
    return bytes;
  }

  Result<Recovery> recover(std::uint64_t seq_after = 0) {
    Result<std::unique_ptr<Disk>> disk = Disk::open(options);
    if (!disk) return disk.error();
    std::uint64_t seq = seq_after;
    return (*disk)->recover(seq_after, [&seq](const RecordView& record) {
      EXPECT_EQ(record.header.seq, ++seq);
      EXPECT_EQ(record.payload, payload_of(seq));
      return Result<void>();
    });
  }

  void expect_refused(std::initializer_list<std::string> words, std::uint64_t seq_after = 0) {
    const Result<Recovery> recovery = recover(seq_after);
    ASSERT_FALSE(recovery.ok());
    EXPECT_EQ(recovery.error().code, ErrorCode::kCorrupt);
    for (const std::string& word : words) {
      EXPECT_NE(recovery.error().message.find(word), std::string::npos)
          << word << " is not in: " << recovery.error().message;
    }
  }

  const Scratch scratch;
  DiskOptions options;
  std::string reported;
  SegmentHeader header;
  RecordChain chain;
  std::vector<std::size_t> offsets;
};

TEST_F(DiskRecovery, SeveralSegments) {
  write_file(path_of(1), segment(1, 11));
  write_file(path_of(11), segment(11, 31));
  write_file(path_of(31), segment(31, 36) + std::string(9000, '\0'));
  const Result<Recovery> recovery = recover();
  ASSERT_TRUE(recovery.ok()) << recovery.error().message;
  EXPECT_EQ(recovery->seq_last, 35U);
  EXPECT_EQ(recovery->epoch_last, 4U);
  EXPECT_EQ(recovery->cluster.bytes[3], 9);
  EXPECT_EQ(recovery->torn, "");
  EXPECT_EQ(recover(35)->records, 0U);
  EXPECT_EQ(recover(30)->records, 5U);
  EXPECT_EQ(recover(9)->records, 26U);
}

TEST_F(DiskRecovery, EveryTornTailIsCutAndTold) {
  const std::string whole = segment(1, 6, 2);  // Batches 1-2, 3-4, 5.
  for (std::size_t cut = offsets[4] + 1; cut < whole.size(); ++cut) {
    std::filesystem::remove_all(journal());
    std::filesystem::create_directories(journal());
    write_file(path_of(1), whole.substr(0, cut) + std::string(500, '\0'));
    reported.clear();
    const Result<Recovery> recovery = recover();
    ASSERT_TRUE(recovery.ok()) << recovery.error().message;
    ASSERT_EQ(recovery->seq_last, 4U);
    ASSERT_NE(recovery->torn.find("offset " + std::to_string(offsets[4]) + ", after record 4"),
              std::string::npos)
        << recovery->torn;
    ASSERT_NE(reported.find(recovery->torn), std::string::npos);
    const Result<Recovery> again = recover();
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_EQ(again->seq_last, 4U);
    ASSERT_EQ(again->torn, "");
  }
}

// The last batch may never have reached the disk, however well it reads from memory.
TEST_F(DiskRecovery, LastBatchIsWrittenAgainToANewSegment) {
  const std::string whole = segment(1, 8, 3);  // Batches 1-3, 4-6, 7.
  write_file(path_of(1), whole);
  ASSERT_TRUE(recover().ok());
  EXPECT_EQ(bytes_of_file(path_of(1)), whole.substr(0, offsets[6]));
  const std::string copy = bytes_of_file(path_of(7));
  Result<SegmentReader> reader = SegmentReader::open(copy);
  ASSERT_TRUE(reader.ok());
  const std::optional<RecordView> record = reader->next();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->payload, payload_of(7));
  EXPECT_EQ(record->header.epoch, 4U);
  EXPECT_FALSE(reader->next());
  EXPECT_EQ(reader->end().kind, SegmentEndKind::kClean);
}

// A crash between the copy and the cut leaves the tail in both; the newer segment wins.
TEST_F(DiskRecovery, SupersededTailIsNotReadTwice) {
  const std::string old = segment(1, 8);
  write_file(path_of(1), old);
  ASSERT_TRUE(recover().ok());
  write_file(path_of(1), old + "torn bytes");
  const Result<Recovery> recovery = recover();
  ASSERT_TRUE(recovery.ok()) << recovery.error().message;
  EXPECT_EQ(recovery->seq_last, 7U);
  EXPECT_EQ(recovery->records, 7U);
  EXPECT_EQ(recovery->torn, "");
}

TEST_F(DiskRecovery, RestartsWithoutRecordsDoNotPileUpFiles) {
  write_file(path_of(1), segment(1, 4));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(recover().ok());
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(journal())) {
    files += entry.is_regular_file() ? 1U : 0U;
  }
  EXPECT_EQ(files, 3U);  // Records 1-2, record 3, the reserve.
}

TEST_F(DiskRecovery, DamageInTheMiddleIsRefusedAndNothingChanges) {
  std::string bytes = segment(1, 20);
  bytes[offsets[6] + 50] ^= 1;
  write_file(path_of(1), bytes);
  expect_refused({path_of(1), "offset " + std::to_string(offsets[6]), "record 7",
                  "record 8 at offset " + std::to_string(offsets[7])});
  EXPECT_EQ(bytes_of_file(path_of(1)), bytes);
}

TEST_F(DiskRecovery, DamageInASealedSegmentIsRefused) {
  std::string bytes = segment(1, 11);
  const std::size_t offset = offsets[9];
  bytes[offset] ^= 1;  // Its last record: only the next segment proves that it was there.
  write_file(path_of(1), bytes);
  write_file(path_of(11), segment(11, 12));
  expect_refused({path_of(1), "offset " + std::to_string(offset), "record 10", "next segment"});
}

TEST_F(DiskRecovery, DamagedHeaderIsRefused) {
  std::string bytes = segment(1, 11);
  bytes[20] ^= 1;
  write_file(path_of(1), bytes);
  expect_refused({path_of(1), "header damaged"});
}

TEST_F(DiskRecovery, MissingSegmentIsRefused) {
  write_file(path_of(1), segment(1, 11));
  segment(11, 21);
  write_file(path_of(21), segment(21, 31));
  expect_refused({path_of(1), "record 11", "next segment, from record 21"});
}

TEST_F(DiskRecovery, MissingStartIsRefused) {
  write_file(path_of(11), segment(11, 21));
  expect_refused({"records 1 to 10 are missing"});
  EXPECT_TRUE(recover(10).ok());
}

TEST_F(DiskRecovery, ForeignSegmentIsRefused) {
  write_file(path_of(1), segment(1, 11));
  chain.previous_crc ^= 1;
  write_file(path_of(11), segment(11, 21));
  expect_refused({path_of(11), "does not follow"});
}

TEST_F(DiskRecovery, RenamedSegmentIsRefused) {
  write_file(path_of(2), segment(1, 11));
  expect_refused({path_of(2), "renamed"}, 1);
}

TEST_F(DiskRecovery, SegmentOfAnotherClusterIsRefused) {
  write_file(path_of(1), segment(1, 11));
  header.cluster[0] = 1;
  write_file(path_of(11), segment(11, 21));
  expect_refused({path_of(11), "belongs to cluster"});
}

TEST_F(DiskRecovery, SnapshotBeyondTheJournalIsRefused) {
  write_file(path_of(1), segment(1, 11));
  expect_refused({"ends at record 10", "snapshot's 50"}, 50);
}

TEST_F(DiskRecovery, SnapshotWithoutAJournalIsRefused) {
  expect_refused({journal(), "no segment"}, 7);
}

TEST_F(DiskRecovery, NewerReleaseIsNamed) {
  header.version = kJournalVersion + 1;
  write_file(path_of(1), segment(1, 11));
  const Result<Recovery> recovery = recover();
  ASSERT_FALSE(recovery.ok());
  EXPECT_EQ(recovery.error().code, ErrorCode::kInvalid);
  EXPECT_NE(recovery.error().message.find("newer release"), std::string::npos);
}

TEST_F(DiskRecovery, ReadOnlyChangesNothing) {
  EXPECT_EQ(read_journal(scratch.path(), {}, {}).error().code, ErrorCode::kNotFound);
  write_file(path_of(11), segment(11, 21));
  const std::string torn = segment(21, 25) + "torn";
  write_file(path_of(21), torn);
  std::uint64_t seq = 10;
  const auto visit = [&seq](const RecordView& record) -> Result<void> {
    EXPECT_EQ(record.header.seq, ++seq);
    return {};
  };
  const Result<Recovery> recovery = read_journal(scratch.path(), {}, visit);
  ASSERT_TRUE(recovery.ok()) << recovery.error().message;
  EXPECT_EQ(recovery->seq_last, 24U);
  EXPECT_EQ(recovery->records, 14U);
  EXPECT_NE(recovery->torn, "");
  EXPECT_EQ(bytes_of_file(path_of(21)), torn);
  EXPECT_FALSE(read_journal(scratch.path(), 3, visit).ok());
}

TEST_F(DiskRecovery, UsedReserveIsMadeAnew) {
  write_file(path_of(1), segment(1, 4));
  write_file(journal() + "/reserve", std::string(1U << 20U, 'x'));
  ASSERT_TRUE(recover().ok());
  const Result<Recovery> again = recover();
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->seq_last, 3U);
  EXPECT_EQ(again->torn, "");
}

}  // namespace
}  // namespace muster
