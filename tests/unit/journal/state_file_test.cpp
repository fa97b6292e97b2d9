// Writing ahead of oneself with zeros: what was written stays, nothing beyond the allocation is.
#include "controller/host/state_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/unit/journal/scratch.h"

namespace muster {
namespace {

constexpr std::uint64_t kAllocated = 2U << 20U;

class Filling : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = StateFile::open(scratch_.path() + "/file", O_RDWR | O_CREAT);
    ASSERT_TRUE(opened.ok());
    file_ = std::move(*opened);
    ASSERT_TRUE(file_.allocate(0, kAllocated, true));
  }
  void write(const std::string& bytes) {
    ASSERT_TRUE(file_.write_filling(bytes, written_.size(), kAllocated, filled_));
    written_ += bytes;
    EXPECT_GE(filled_, written_.size());
    EXPECT_LE(filled_, std::max<std::uint64_t>(kAllocated, written_.size()));
  }
  std::string content() const {
    std::string bytes(*file_.size(), 'x');
    EXPECT_EQ(*file_.read_at(bytes.data(), bytes.size(), 0), bytes.size());
    return bytes;
  }
  void expect_written_then_zeros() const {
    const std::string all = content();
    ASSERT_GE(all.size(), written_.size());
    EXPECT_TRUE(all.compare(0, written_.size(), written_) == 0);
    EXPECT_EQ(all.find_first_not_of('\0', written_.size()), std::string::npos);
  }

  const Scratch scratch_;
  StateFile file_;
  std::string written_;
  std::uint64_t filled_ = 0;
};

TEST_F(Filling, KeepsWhatWasWrittenInSmallPieces) {
  for (int i = 0; written_.size() < kAllocated - 8192; ++i) {
    write(std::string(static_cast<std::size_t>(1000 + i % 3000), static_cast<char>('a' + i % 26)));
  }
  expect_written_then_zeros();
}

TEST_F(Filling, TheSizeSeldomChangesBetweenSmallWrites) {
  unsigned changes = 0;
  std::uint64_t size = 0;
  for (int i = 0; i < 200; ++i) {
    write(std::string(3000, 'a'));
    const std::uint64_t now = *file_.size();
    changes += now != size ? 1 : 0;
    size = now;
  }
  EXPECT_LE(changes, 2U);
}

TEST_F(Filling, LeavesLargeWritesAlone) {
  write(std::string(300U << 10U, 'a'));
  EXPECT_EQ(*file_.size(), written_.size());
  write("small");
  write(std::string(300U << 10U, 'b'));
  write("small again");
  expect_written_then_zeros();
}

TEST_F(Filling, EndsWithTheAllocation) {
  write(std::string(kAllocated - 100, 'a'));
  write(std::string(50, 'b'));
  EXPECT_EQ(filled_, kAllocated);
  write(std::string(50, 'c'));
  EXPECT_EQ(*file_.size(), kAllocated);
  expect_written_then_zeros();
}

}  // namespace
}  // namespace muster
