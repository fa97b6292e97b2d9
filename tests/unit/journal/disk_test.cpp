// The disk thread: order, durability told, rotation, reading beside it, the lock.
#include "controller/host/disk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/journal/scratch.h"

namespace muster {
namespace {

DiskOptions options_for(const std::string& directory) {
  DiskOptions options;
  options.directory = directory;
  options.segment_bytes = 1U << 20U;
  options.segment_seal_bytes = 64U << 10U;
  options.free_bytes_min = 0;
  options.blobs.pack_bytes = 4U << 20U;
  options.blobs.room_bytes = 1U << 20U;
  options.report = [](const std::string&) {};
  return options;
}

Result<void> ignore(const RecordView&) { return {}; }

std::unique_ptr<Disk> open_disk(const DiskOptions& options) {
  Result<std::unique_ptr<Disk>> disk = Disk::open(options);
  EXPECT_TRUE(disk.ok()) << (disk.ok() ? "" : disk.error().message);
  return disk.ok() ? std::move(*disk) : nullptr;
}

std::string payload_of(std::uint64_t seq) { return "record " + std::to_string(seq); }

void wait_for(const Disk& disk, std::uint64_t seq) {
  for (int i = 0; i < 10000 && disk.durable_seq() < seq; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_GE(disk.durable_seq(), seq);
}

struct ReadBack {
  std::vector<std::uint64_t> seqs;
  Recovery recovery;
};

ReadBack recover(const DiskOptions& options, std::uint64_t seq_after) {
  ReadBack back;
  const std::unique_ptr<Disk> disk = open_disk(options);
  const Result<Recovery> recovery = disk->recover(seq_after, [&back](const RecordView& record) {
    EXPECT_EQ(record.payload, payload_of(record.header.seq));
    back.seqs.push_back(record.header.seq);
    return Result<void>();
  });
  EXPECT_TRUE(recovery.ok()) << (recovery.ok() ? "" : recovery.error().message);
  if (recovery.ok()) back.recovery = *recovery;
  return back;
}

TEST(Disk, RecordsComeBackAfterRestarts) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path() + "/state");
  std::uint64_t seq = 0;
  Uuid cluster;
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    const std::unique_ptr<Disk> disk = open_disk(options);
    std::uint64_t seen = 0;
    const Result<Recovery> recovery = disk->recover(0, [&seen](const RecordView& record) {
      EXPECT_EQ(record.header.seq, ++seen);
      EXPECT_EQ(record.payload, payload_of(seen));
      return Result<void>();
    });
    ASSERT_TRUE(recovery.ok()) << recovery.error().message;
    EXPECT_EQ(recovery->seq_last, seq);
    EXPECT_EQ(recovery->records, seq);
    EXPECT_EQ(recovery->epoch_last, epoch - 1);
    EXPECT_EQ(recovery->torn, "");
    EXPECT_NE(recovery->cluster, Uuid{});
    EXPECT_TRUE(epoch == 1 || recovery->cluster == cluster);
    cluster = recovery->cluster;
    std::uint64_t told = 0;
    disk->start(Epoch{epoch}, [&told](std::uint64_t durable) {
      EXPECT_GT(durable, told);
      told = durable;
    });
    for (int i = 0; i < 1000; ++i) {
      ++seq;
      disk->append(seq, payload_of(seq), {7, 2});
    }
    wait_for(*disk, seq);
  }
  EXPECT_EQ(recover(options, 0).seqs.size(), 5000U);
  const ReadBack tail = recover(options, 4990);
  EXPECT_EQ(tail.seqs.size(), 10U);
  EXPECT_EQ(tail.seqs.front(), 4991U);
}

TEST(Disk, EndOfLifeMakesTheQueueDurable) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path());
  {
    const std::unique_ptr<Disk> disk = open_disk(options);
    ASSERT_TRUE(disk->recover(0, ignore).ok());
    disk->start(Epoch{1}, {});
    for (std::uint64_t seq = 1; seq <= 300; ++seq) disk->append(seq, payload_of(seq));
  }
  EXPECT_EQ(recover(options, 0).seqs.size(), 300U);
}

TEST(Disk, SecondControllerIsRefusedByPid) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path());
  const std::unique_ptr<Disk> disk = open_disk(options);
  const Result<std::unique_ptr<Disk>> second = Disk::open(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid()) + ";"),
            std::string::npos)
      << second.error().message;
}

TEST(Disk, UnusableDirectoryIsAnError) {
  DiskOptions options = options_for("/proc/muster-cannot-be");
  const Result<std::unique_ptr<Disk>> disk = Disk::open(options);
  ASSERT_FALSE(disk.ok());
  EXPECT_NE(disk.error().message.find("/proc/muster-cannot-be"), std::string::npos);
}

TEST(Disk, WrongClusterIsRefused) {
  const Scratch scratch;
  DiskOptions options = options_for(scratch.path());
  recover(options, 0);
  options.cluster.bytes[0] = 1;
  const std::unique_ptr<Disk> disk = open_disk(options);
  const Result<Recovery> recovery = disk->recover(0, ignore);
  ASSERT_FALSE(recovery.ok());
  EXPECT_NE(recovery.error().message.find("belongs to cluster"), std::string::npos);
}

TEST(Disk, VisitorErrorStopsRecovery) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path());
  {
    const std::unique_ptr<Disk> disk = open_disk(options);
    ASSERT_TRUE(disk->recover(0, ignore).ok());
    disk->start(Epoch{1}, {});
    disk->append(1, payload_of(1));
  }
  const std::unique_ptr<Disk> disk = open_disk(options);
  const Result<Recovery> recovery = disk->recover(0, [](const RecordView&) -> Result<void> {
    return fail(ErrorCode::kInvalid, "unknown event");
  });
  ASSERT_FALSE(recovery.ok());
  EXPECT_EQ(recovery.error().message, "unknown event");
}

std::size_t segments_in(const std::string& state) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(state + "/journal")) {
    if (parse_segment_file_name(entry.path().filename().string())) ++count;
  }
  return count;
}

// Appends like the engine does: the seal is the last record of a segment.
void append_rotating(Disk& disk, std::uint64_t& seq, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    ++seq;
    disk.append(seq, payload_of(seq));
    if (i % 100 == 99) wait_for(disk, seq);
    if (disk.wants_rotation()) disk.rotate();
  }
}

TEST(Disk, RotatesReadsBesideAndRemoves) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path());
  std::uint64_t seq = 0;
  {
    const std::unique_ptr<Disk> disk = open_disk(options);
    ASSERT_TRUE(disk->recover(0, ignore).ok());
    disk->start(Epoch{1}, {});
    std::atomic<bool> is_done{false};
    std::uint64_t fed = 1;
    std::thread feed([&] {
      while (true) {
        const bool was_done = is_done;
        const Result<std::uint64_t> next = disk->read_from(fed, [&fed](const RecordView& record) {
          EXPECT_EQ(record.header.seq, fed);
          EXPECT_EQ(record.payload, payload_of(fed));
          ++fed;
          return fed % 1000 != 0;
        });
        ASSERT_TRUE(next.ok()) << next.error().message;
        ASSERT_EQ(*next, fed);
        if (was_done && fed == disk->durable_seq() + 1) return;
      }
    });
    append_rotating(*disk, seq, 10000);
    wait_for(*disk, seq);
    is_done = true;
    feed.join();
    EXPECT_EQ(fed, seq + 1);
    EXPECT_GE(segments_in(scratch.path()), 8U);
    const std::uint64_t bytes_before = disk->bytes_on_disk();

    disk->remove_below(seq / 2);
    EXPECT_LT(disk->bytes_on_disk(), bytes_before);
    const Result<std::uint64_t> gone = disk->read_from(1, [](const RecordView&) { return true; });
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
    std::uint64_t first = 0;
    ASSERT_TRUE(disk->read_from(seq / 2,
                                [&first](const RecordView& record) {
                                  first = record.header.seq;
                                  return false;
                                })
                    .ok());
    EXPECT_EQ(first, seq / 2);
    disk->remove_below(seq + 100);  // The one being written stays.
    EXPECT_EQ(segments_in(scratch.path()), 1U);
  }
  const ReadBack tail = recover(options, seq - 5);
  EXPECT_EQ(tail.seqs.size(), 5U);
  const std::unique_ptr<Disk> disk = open_disk(options);
  const Result<Recovery> all = disk->recover(0, ignore);
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message.find("missing"), std::string::npos);
}

TEST(Disk, ReadFromAnyPlaceAnswersTheNextOne) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path());
  const std::unique_ptr<Disk> disk = open_disk(options);
  ASSERT_TRUE(disk->recover(0, ignore).ok());
  disk->start(Epoch{1}, {});
  const Result<std::uint64_t> none = disk->read_from(1, [](const RecordView&) { return true; });
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, 1U);
  std::uint64_t seq = 0;
  append_rotating(*disk, seq, 3000);
  wait_for(*disk, seq);
  for (const std::uint64_t from : {2999ULL, 1ULL, 1500ULL, 1501ULL, 3ULL, 3000ULL}) {
    std::uint64_t expected = from;
    const Result<std::uint64_t> next = disk->read_from(from, [&](const RecordView& record) {
      EXPECT_EQ(record.header.seq, expected);
      ++expected;
      return true;
    });
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(*next, 3001U);
    EXPECT_EQ(expected, 3001U);
  }
}

TEST(Disk, RecordsLargerThanASegmentAndTheQueue) {
  const Scratch scratch;
  DiskOptions options = options_for(scratch.path());
  options.queue_bytes_max = 1000;
  const std::string large(3U << 20U, 'L');
  {
    const std::unique_ptr<Disk> disk = open_disk(options);
    ASSERT_TRUE(disk->recover(0, ignore).ok());
    disk->start(Epoch{1}, {});
    for (std::uint64_t seq = 1; seq <= 4; ++seq) disk->append(seq, large);
    wait_for(*disk, 4);
    std::uint64_t count = 0;
    ASSERT_TRUE(disk->read_from(1,
                                [&](const RecordView& record) {
                                  EXPECT_EQ(record.payload, large);
                                  ++count;
                                  return true;
                                })
                    .ok());
    EXPECT_EQ(count, 4U);
  }
  const std::unique_ptr<Disk> disk = open_disk(options);
  const Result<Recovery> recovery = disk->recover(0, ignore);
  ASSERT_TRUE(recovery.ok()) << recovery.error().message;
  EXPECT_EQ(recovery->seq_last, 4U);
}

TEST(Disk, BlobsAreDurableBeforeTheRecordThatNamesThem) {
  const Scratch scratch;
  const DiskOptions options = options_for(scratch.path());
  std::atomic<std::uint64_t> durable{0};  // Outlives the disk, whose thread tells it.
  const std::unique_ptr<Disk> disk = open_disk(options);
  ASSERT_TRUE(disk->recover(0, ignore).ok());
  std::vector<BlobRef> refs;
  disk->start(Epoch{1}, [&durable](std::uint64_t seq) { durable = seq; });
  for (std::uint64_t seq = 1; seq <= 200; ++seq) {
    const std::string content = "script " + std::to_string(seq) + std::string(seq * 100, '#');
    const Result<BlobRef> ref = disk->blobs().put(content);
    ASSERT_TRUE(ref.ok()) << ref.error().message;
    refs.push_back(*ref);
    disk->append(seq, payload_of(seq));
    const std::uint64_t known = durable;
    if (known == 0) continue;
    const Result<std::string> back = disk->blobs().read(refs[known - 1]);
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_EQ(*back, "script " + std::to_string(known) + std::string(known * 100, '#'));
  }
}

}  // namespace
}  // namespace muster
