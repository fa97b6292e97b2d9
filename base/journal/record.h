// One journal record: a fixed header and an opaque payload.
//
// A record carries two checksums. header_crc covers the header alone, so that a reader can trust
// `size` before it looks at the payload. crc covers header and payload and is repeated in the next
// record as previous_crc: the chain. Both are seeded with the segment's salt, a random number, so
// that no payload can hold bytes that pass for a record.
//
// durable_seq says which records were known to be on disk when this one was written. It tells a
// torn tail from damage: after a power cut, pages of one unsynced batch may have arrived in any
// order, and nothing of it was acknowledged.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/types/result.h"

namespace muster {

constexpr std::size_t kRecordBytesMax = 64U << 20U;  // Of a payload.
constexpr std::uint32_t kRecordMagic =
    0x524A4D8AU;  // 8A 'M' 'J' 'R': the first byte is in no text.

struct RecordHeader {
  std::uint32_t magic = kRecordMagic;
  std::uint32_t header_crc = 0;
  std::uint32_t size = 0;     // Of the payload that follows.
  std::uint16_t type = 0;     // Meaning of the payload: the writer's business.
  std::uint16_t version = 0;  // Of the payload's encoding.
  std::uint64_t seq = 0;      // From 1, without gaps.
  std::uint64_t epoch = 0;
  std::uint64_t durable_seq = 0;
  std::uint32_t previous_crc = 0;  // crc of record seq - 1.
  std::uint32_t crc = 0;
};
static_assert(sizeof(RecordHeader) == 48 && std::has_unique_object_representations_v<RecordHeader>,
              "no padding reaches the disk");
static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// What the writer says of a record; sizes and checksums are added by append_record.
struct RecordLabel {
  std::uint64_t seq = 0;
  std::uint64_t epoch = 0;
  std::uint64_t durable_seq = 0;
  std::uint16_t type = 0;
  std::uint16_t version = 0;
};

// Where a chain of records stands: what the next record must be.
struct RecordChain {
  std::uint32_t salt = 0;
  std::uint32_t previous_crc = 0;
  std::uint64_t seq_next = 1;
};

// Appends the record to `buffer` and moves the chain on. Asserts label.seq == chain.seq_next and
// the size limit.
void append_record(std::string& buffer, const RecordLabel& label, std::string_view payload,
                   RecordChain& chain);

struct RecordView {
  RecordHeader header;
  std::string_view payload;  // Into the bytes that were checked.
  std::size_t bytes() const { return sizeof(RecordHeader) + payload.size(); }
};

enum class RecordState : std::uint8_t {
  kGood,
  kShort,       // Sound so far, but the bytes end before the record does: `needed` are wanted.
  kEnd,         // A header of zeros: nothing was written here.
  kBadHeader,   // Not a record.
  kBadPayload,  // The header is sound, its payload is not: `needed` bytes belong to it.
  kBadChain,    // A sound record that does not belong here: wrong sequence or predecessor.
};

struct RecordCheck {
  RecordState state = RecordState::kBadHeader;
  RecordView
      record;  // Of kGood, kBadChain; header only of kBadPayload and kShort with a whole header.
  std::size_t needed = 0;  // Bytes of the whole record, as far as known.
};

// Judges the record at the start of `bytes`. Never reads past them; allocates nothing.
RecordCheck check_record(std::string_view bytes, const RecordChain& chain);

// The chain after `record`.
RecordChain after(const RecordChain& chain, const RecordView& record);

}  // namespace muster
