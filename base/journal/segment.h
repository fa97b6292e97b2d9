// A segment: one file of the journal, a header and records, then zeros as far as the file is
// preallocated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/journal/record.h"
#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

constexpr std::uint64_t kSegmentBytes =
    64ULL << 20U;  // Preallocated; a segment is sealed before it is full.
constexpr std::uint64_t kSegmentSealBytes = 48ULL << 20U;      // From here on a seal is wanted.
constexpr std::uint64_t kSegmentFileBytesMax = 512ULL << 20U;  // A reader refuses more.
constexpr std::uint32_t kJournalVersion = 1;

struct SegmentHeader {
  std::array<char, 8> magic{'\x8A', 'M', 'U', 'S', 'T', 'J', 'N', 'L'};
  std::uint32_t version = kJournalVersion;
  std::uint32_t salt = 0;  // Random: seeds every checksum of this segment's records.
  std::array<std::uint8_t, 16> cluster{};
  std::uint64_t seq_first = 1;     // Of the first record in it, also when there is none yet.
  std::uint64_t epoch = 0;         // In which the segment was begun.
  std::uint32_t previous_crc = 0;  // Of record seq_first - 1; 0 when there is none.
  std::uint32_t crc = 0;           // Of this header with crc 0.
  RecordChain chain() const { return {salt, previous_crc, seq_first}; }
};
static_assert(sizeof(SegmentHeader) == 56 &&
              std::has_unique_object_representations_v<SegmentHeader>);

// Appends the header with its checksum.
void append_segment_header(std::string& buffer, SegmentHeader header);

// kCorrupt: not a segment, or damaged. kInvalid: written by a newer release.
Result<SegmentHeader> read_segment_header(std::string_view bytes);

enum class SegmentEndKind : std::uint8_t {
  kClean,    // Zeros, or the end of the bytes, after the last record.
  kTorn,     // An unsynced tail that never was acknowledged: cut it at `offset`.
  kDamaged,  // Record seq_next was durable once and cannot be read: a later record proves it.
};

struct SegmentEnd {
  SegmentEndKind kind = SegmentEndKind::kClean;
  std::uint64_t offset = 0;        // First byte after the last good record.
  std::uint64_t seq_next = 0;      // Of the record that would stand there.
  std::uint64_t offset_proof = 0;  // kDamaged: where the later record stands, and its number.
  std::uint64_t seq_proof = 0;
};

// Yields the records of one segment in order. The bytes must outlive the reader and its views.
class SegmentReader {
 public:
  // `bytes` is the whole file. Errors as read_segment_header.
  static Result<SegmentReader> open(std::string_view bytes);

  const SegmentHeader& header() const { return header_; }
  // The next record; nothing at the end, which end() then explains.
  std::optional<RecordView> next();
  std::uint64_t offset() const { return offset_; }  // After the last record given.
  const RecordChain& chain() const { return chain_; }
  const SegmentEnd& end() const { return end_; }

 private:
  SegmentReader(std::string_view bytes, const SegmentHeader& header);
  void judge_end(const RecordCheck& check);

  std::string_view bytes_;
  SegmentHeader header_;
  RecordChain chain_;
  std::uint64_t offset_ = 0;
  SegmentEnd end_;
};

// "segment-00000000000000000001": named after its first record, so that names sort as records do.
std::string segment_file_name(std::uint64_t seq_first);
std::optional<std::uint64_t> parse_segment_file_name(std::string_view name);

}  // namespace muster
