// Snapshot files: round trips, and every kind of damage.
#include "base/journal/snapshot.h"

#include <gtest/gtest.h>

#include <cstring>

namespace muster {
namespace {

SnapshotLabel label() {
  SnapshotLabel label;
  label.cluster[0] = 7;
  label.seq = 41;
  label.epoch = 3;
  label.digest = 0x1122334455667788ULL;
  return label;
}

std::string make(const std::string& payload, std::size_t piece) {
  std::string file;
  SnapshotWriter writer(label(), [&file](std::string_view bytes) {
    file.append(bytes);
    return Result<void>();
  });
  for (std::size_t at = 0; at < payload.size(); at += piece) {
    EXPECT_TRUE(writer.add(std::string_view(payload).substr(at, piece)).ok());
  }
  EXPECT_TRUE(writer.finish().ok());
  return file;
}

SnapshotReader::Source source_of(std::string_view file) {
  return [file, at = std::size_t{0}](char* into, std::size_t size) mutable -> Result<std::size_t> {
    const std::size_t count = std::min(size, file.size() - at);
    std::memcpy(into, file.data() + at, count);
    at += count;
    return count;
  };
}

Result<std::string> read_all(std::string_view file) {
  Result<SnapshotReader> reader = SnapshotReader::open(source_of(file));
  if (!reader) return reader.error();
  std::string payload;
  while (true) {
    const Result<std::string_view> piece = reader->next();
    if (!piece) return piece.error();
    if (piece->empty()) return payload;
    payload.append(*piece);
  }
}

std::string payload_of(std::size_t size) {
  std::string payload(size, '\0');
  for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 31 + i / 255);
  return payload;
}

TEST(Snapshot, RoundTrips) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, kSnapshotChunkBytes,
        kSnapshotChunkBytes + 1, 3 * kSnapshotChunkBytes + 77}) {
    const std::string payload = payload_of(size);
    for (const std::size_t piece : {std::size_t{70000}, std::size_t{5} << 20U}) {
      const std::string file = make(payload, piece);
      const Result<std::string> back = read_all(file);
      ASSERT_TRUE(back.ok()) << back.error().message;
      ASSERT_EQ(*back, payload);
    }
  }
}

TEST(Snapshot, LabelComesBack) {
  const std::string file = make("x", 1);
  const Result<SnapshotReader> reader = SnapshotReader::open(source_of(file));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->label().seq, 41U);
  EXPECT_EQ(reader->label().epoch, 3U);
  EXPECT_EQ(reader->label().digest, 0x1122334455667788ULL);
  EXPECT_EQ(reader->label().cluster[0], 7);
}

TEST(Snapshot, EveryFlippedBitIsSeen) {
  const std::string file = make(payload_of(700), 100);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(read_all(damaged).ok()) << bit;
  }
}

TEST(Snapshot, SampledFlipsOfALargeOneAreSeen) {
  const std::string file = make(payload_of(3 * kSnapshotChunkBytes), 100000);
  for (std::size_t at = 0; at < file.size(); at += 104729) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    ASSERT_FALSE(read_all(damaged).ok()) << at;
  }
}

TEST(Snapshot, EveryCutIsSeen) {
  const std::string file = make(payload_of(700), 100);
  for (std::size_t size = 0; size < file.size(); ++size) {
    ASSERT_FALSE(read_all(std::string_view(file).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(read_all(file + '\0').ok());
}

TEST(Snapshot, SwappedOrLostChunksAreSeen) {
  const std::string file = make(payload_of(3 * kSnapshotChunkBytes), kSnapshotChunkBytes);
  const std::size_t one = sizeof(SnapshotChunk) + kSnapshotChunkBytes;
  const std::size_t start = sizeof(SnapshotHeader);
  std::string lost = file;
  lost.erase(start + one, one);
  EXPECT_FALSE(read_all(lost).ok());
  std::string swapped = file.substr(0, start) + file.substr(start + one, one) +
                        file.substr(start, one) + file.substr(start + 2 * one);
  EXPECT_FALSE(read_all(swapped).ok());
}

TEST(Snapshot, SinkErrorIsPassedOn) {
  SnapshotWriter writer(
      label(), [](std::string_view) -> Result<void> { return fail(ErrorCode::kLimit, "full"); });
  EXPECT_TRUE(writer.add("small").ok());  // Still buffered.
  const Result<void> done = writer.finish();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "full");
}

TEST(Snapshot, FileName) { EXPECT_EQ(snapshot_file_name(17), "snapshot-00000000000000000017"); }

}  // namespace
}  // namespace muster
