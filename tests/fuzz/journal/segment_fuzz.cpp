// Segments: no bytes may crash the reader, and no edit of a sound segment may bring forth a record
// that was not written, or one out of its place.
#include "base/journal/segment.h"
#include "tests/fuzz/journal/edits.h"

namespace muster {
namespace {

std::string payload_of(std::uint64_t seq) {
  return "record " + std::to_string(seq) + std::string(seq % 40, '#');
}

std::string sound_segment(Digits& digits) {
  SegmentHeader header;
  header.salt = 0x5EED5A17U;
  header.seq_first = 1 + digits.byte();
  std::string bytes;
  append_segment_header(bytes, header);
  RecordChain chain = header.chain();
  for (std::size_t batches = digits.byte() % 16; batches > 0; --batches) {
    const std::uint64_t durable = chain.seq_next - 1;
    for (std::size_t records = 1 + digits.byte() % 8; records > 0; --records) {
      const std::uint64_t seq = chain.seq_next;
      append_record(bytes, {seq, 1, durable, 1, 1}, payload_of(seq), chain);
    }
  }
  bytes.append(digits.byte(), '\0');
  return bytes;
}

void read_segment(std::string_view bytes, bool is_edited) {
  Result<SegmentReader> reader = SegmentReader::open(bytes);
  if (!reader) return;
  std::uint64_t seq = reader->header().seq_first;
  while (const std::optional<RecordView> record = reader->next()) {
    MUSTER_ASSERT(record->header.seq == seq);
    if (is_edited) MUSTER_ASSERT(record->payload == payload_of(seq));
    ++seq;
  }
  const SegmentEnd& end = reader->end();
  MUSTER_ASSERT(end.offset <= bytes.size() && end.seq_next == seq);
  if (end.kind == SegmentEndKind::kDamaged) MUSTER_ASSERT(end.offset_proof < bytes.size());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_segment(input, false);
  static_cast<void>(check_record(input, {}));
  static_cast<void>(parse_segment_file_name(input));
  Digits digits(input);
  std::string bytes = sound_segment(digits);
  edit(bytes, digits);
  read_segment(bytes, true);
  return 0;
}
