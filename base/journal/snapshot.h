// A snapshot file: a header, the payload in chunks that each carry a chained checksum, a footer
// with the totals. Both sides stream, holding one chunk. What the payload means is the caller's
// business.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/types/result.h"

namespace muster {

constexpr std::uint32_t kSnapshotVersion = 1;
constexpr std::size_t kSnapshotChunkBytes = 1U << 20U;

// What a snapshot says of itself.
struct SnapshotLabel {
  std::array<std::uint8_t, 16> cluster{};
  std::uint64_t seq = 0;    // The state after this record.
  std::uint64_t epoch = 0;  // Of that record.
  std::uint64_t digest = 0;
};

struct SnapshotHeader {
  std::array<char, 8> magic{'\x8A', 'M', 'U', 'S', 'T', 'S', 'N', 'P'};
  std::uint32_t version = kSnapshotVersion;
  std::uint32_t crc = 0;  // Of this header with crc 0; the seed of the first chunk.
  SnapshotLabel label;
};
static_assert(sizeof(SnapshotHeader) == 56 &&
              std::has_unique_object_representations_v<SnapshotHeader>);

// Before every chunk, and, with size 0, before the footer.
struct SnapshotChunk {
  std::uint32_t size = 0;
  std::uint32_t crc =
      0;  // Of size and payload, seeded with the crc before: chunks cannot be lost or swapped.
};
static_assert(std::has_unique_object_representations_v<SnapshotChunk>);

struct SnapshotFooter {
  std::uint64_t payload_bytes = 0;
  std::uint32_t chunks = 0;
  std::uint32_t crc = 0;  // Of the two above, seeded with the crc before.
};
static_assert(std::has_unique_object_representations_v<SnapshotFooter>);

// Gives the bytes of a snapshot file, in order, to `sink`; an error of the sink is passed on and is
// final.
class SnapshotWriter {
 public:
  using Sink = std::function<Result<void>(std::string_view)>;

  SnapshotWriter(const SnapshotLabel& label, Sink sink);
  // Adds payload, in pieces of any size.
  Result<void> add(std::string_view payload);
  // Writes what is left and the footer. A file without it is no snapshot.
  Result<void> finish();

 private:
  Result<void> write_chunk(std::string_view payload);

  Sink sink_;
  SnapshotHeader header_;
  bool is_begun_ = false;
  std::uint32_t crc_ = 0;
  SnapshotFooter footer_;
  std::string pending_;
};

// Reads a snapshot and checks every byte of it. Nothing may be believed before next() has said that
// all is read.
class SnapshotReader {
 public:
  // Fills `into` with up to `size` bytes and says how many; fewer than asked only at the end of the
  // file.
  using Source = std::function<Result<std::size_t>(char* into, std::size_t size)>;

  // kCorrupt: not a snapshot, or damaged. kInvalid: written by a newer release. The source's errors
  // as they are.
  static Result<SnapshotReader> open(Source source);

  const SnapshotLabel& label() const { return header_.label; }
  // The next piece of payload, valid until the next call; empty: complete, and every checksum was
  // right.
  Result<std::string_view> next();

 private:
  explicit SnapshotReader(Source source) : source_(std::move(source)) {}
  Result<void> read_exactly(char* into, std::size_t size);
  Result<std::string_view> read_footer();
  Error damaged(const std::string& what) const;

  Source source_;
  SnapshotHeader header_;
  std::uint32_t crc_ = 0;
  SnapshotFooter seen_;
  std::uint64_t offset_ = 0;  // In the file, for messages.
  bool is_complete_ = false;
  std::string chunk_;
};

// "snapshot-00000000000000000001": after the last record it holds.
std::string snapshot_file_name(std::uint64_t seq);

}  // namespace muster
