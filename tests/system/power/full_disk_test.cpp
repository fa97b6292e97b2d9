// F08: the state disk fills up. Submits are refused, small records go on into the reserve, then the
// queue waits; when there is space again, all is normal within five seconds and nothing is lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "controller/host/disk.h"
#include "tests/unit/journal/scratch.h"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A small file system: MUSTER_TEST_SMALL_DISK, or a tmpfs of its own.
class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread yet.
    if (const char* given = std::getenv("MUSTER_TEST_SMALL_DISK")) {
      root = given;
    } else {
      root = scratch.path() + "/disk";
      std::filesystem::create_directories(root);
      is_mounted = ::mount("tmpfs", root.c_str(), "tmpfs", 0, "size=24m") == 0;
      if (!is_mounted) GTEST_SKIP() << "a tmpfs cannot be mounted here (needs root)";
    }
    options.directory = root + "/state";
    options.segment_bytes = 2U << 20U;
    options.segment_seal_bytes = 1U << 20U;
    options.free_bytes_min = 1U << 20U;
    options.blobs.pack_bytes = 4U << 20U;
    options.blobs.room_bytes = 1U << 20U;
    options.report = [this](const std::string& line) {
      const std::lock_guard<std::mutex> lock(report_mutex);
      reported += line + "\n";
    };
  }
  void TearDown() override {
    under_test.reset();
    std::filesystem::remove_all(root + "/state");
    ::unlink(ballast().c_str());
    if (is_mounted) ::umount2(root.c_str(), MNT_DETACH);
  }

  std::string ballast() const { return root + "/ballast"; }

  // Takes all free space but about `left` bytes.
  void fill_up(std::size_t left) {
    const int file = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    const std::string chunk(4096, 'b');
    off_t size = 0;
    for (ssize_t written = 1; written > 0; size += written) {
      written = ::write(file, chunk.data(), chunk.size());
      if (written < 0) break;
    }
    ASSERT_EQ(::ftruncate(file, std::max<off_t>(0, size - static_cast<off_t>(left))), 0);
    ::fsync(file);
    ::close(file);
  }

  void start() {
    Result<std::unique_ptr<Disk>> disk = Disk::open(options);
    ASSERT_TRUE(disk.ok()) << disk.error().message;
    under_test = std::move(*disk);
    records = 0;
    const Result<Recovery> recovery = under_test->recover(0, [this](const RecordView& record) {
      EXPECT_EQ(record.header.seq, ++records);
      return Result<void>();
    });
    ASSERT_TRUE(recovery.ok()) << recovery.error().message;
    seq = recovery->seq_last;
    under_test->start(Epoch{recovery->epoch_last + 1}, {});
  }

  void append(std::size_t size) {
    ++seq;
    under_test->append(seq, std::string(size, 'r'));
    if (under_test->wants_rotation()) under_test->rotate();
  }

  template <class Condition>
  bool comes_true(const Condition& condition, milliseconds within) const {
    const auto deadline = steady_clock::now() + within;
    while (!condition()) {
      if (steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }
  bool is_durable(milliseconds within) const {
    return comes_true([this] { return under_test->durable_seq() == seq; }, within);
  }

  const Scratch scratch;
  std::string root;
  bool is_mounted = false;
  DiskOptions options;
  std::mutex report_mutex;
  std::string reported;
  std::unique_ptr<Disk> under_test;
  std::uint64_t seq = 0;
  std::uint64_t records = 0;
};

TEST_F(FullDisk, ReserveThenWaitingThenNormalAgain) {
  start();
  append(100);
  ASSERT_TRUE(is_durable(milliseconds(2000)));
  EXPECT_FALSE(under_test->is_nearly_full());

  fill_up(0);
  append(100);
  ASSERT_TRUE(comes_true([this] { return under_test->is_nearly_full(); }, milliseconds(2000)));

  // Cancels and completions: far more than a disk without reserve could take.
  std::uint64_t in_reserve = 0;
  while (in_reserve < (1U << 20U)) {
    append(1000);
    in_reserve += 1000;
    ASSERT_TRUE(is_durable(milliseconds(2000))) << in_reserve << " bytes into the reserve";
  }
  // Until it is used up: records wait, nothing ends, nothing is acknowledged.
  const std::uint64_t acked = under_test->durable_seq();
  for (int i = 0; i < 4000; ++i) append(1000);
  EXPECT_FALSE(is_durable(milliseconds(500)));
  EXPECT_GE(under_test->durable_seq(), acked);

  ASSERT_EQ(::unlink(ballast().c_str()), 0);
  EXPECT_TRUE(is_durable(milliseconds(5000)));
  EXPECT_TRUE(comes_true([this] { return !under_test->is_nearly_full(); }, milliseconds(5000)));
  under_test.reset();
  EXPECT_NE(reported.find("state disk full"), std::string::npos) << reported;

  const std::uint64_t expected = seq;
  start();
  EXPECT_EQ(records, expected);
}

TEST_F(FullDisk, BlobsAreRefusedNotStranded) {
  start();
  fill_up(0);
  // What was allocated ahead is given out, then comes a refusal; never a wait, never a promise that
  // cannot be kept.
  std::vector<BlobRef> refs;
  std::string refusal;
  for (int i = 0; i < 5000 && refusal.empty(); ++i) {
    const Result<BlobRef> ref = under_test->blobs().put(std::to_string(i) + std::string(2000, 's'));
    if (!ref) {
      refusal = ref.error().message;
      break;
    }
    refs.push_back(*ref);
    append(10);
  }
  EXPECT_EQ(refusal, "state disk full");
  EXPECT_GT(refs.size(), 100U);
  ASSERT_TRUE(is_durable(milliseconds(2000)));
  for (const BlobRef& ref : refs) ASSERT_TRUE(under_test->blobs().read(ref).ok());

  ASSERT_EQ(::unlink(ballast().c_str()), 0);
  ASSERT_TRUE(
      comes_true([this] { return under_test->blobs().put("after").ok(); }, milliseconds(5000)));
}

TEST_F(FullDisk, StartsOnAFullDisk) {
  start();
  append(100);
  ASSERT_TRUE(is_durable(milliseconds(2000)));
  under_test.reset();
  fill_up(0);
  start();  // With the reserve of the last run.
  EXPECT_EQ(records, 1U);
  EXPECT_TRUE(under_test->is_nearly_full());
  append(100);
  EXPECT_TRUE(is_durable(milliseconds(2000)));
}

TEST_F(FullDisk, EndsWhileItWaits) {
  start();
  fill_up(0);
  for (int i = 0; i < 6000; ++i) append(1000);
  EXPECT_FALSE(is_durable(milliseconds(300)));
  const std::uint64_t acked = under_test->durable_seq();
  const auto begun = steady_clock::now();
  under_test.reset();
  EXPECT_LT(steady_clock::now() - begun, milliseconds(1000));
  ::unlink(ballast().c_str());
  start();
  EXPECT_GE(records, acked);
}

TEST_F(FullDisk, NoRoomForAnyJournalIsAnError) {
  fill_up(100U << 10U);
  Result<std::unique_ptr<Disk>> disk = Disk::open(options);
  ASSERT_TRUE(disk.ok()) << disk.error().message;
  const Result<Recovery> recovery =
      (*disk)->recover(0, [](const RecordView&) { return Result<void>(); });
  ASSERT_FALSE(recovery.ok());
  EXPECT_NE(recovery.error().message.find("state disk full"), std::string::npos);
}

}  // namespace
}  // namespace muster
