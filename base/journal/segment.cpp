// Reading a segment, and telling a torn tail from damage.
#include "base/journal/segment.h"

#include <charconv>
#include <cstring>

#include "base/journal/crc32c.h"

namespace muster {
namespace {

constexpr std::string_view kSegmentPrefix = "segment-";
constexpr std::size_t kSeqDigits = 20;

std::uint32_t crc_of(SegmentHeader header) {
  header.crc = 0;
  return crc32c(0, {reinterpret_cast<const char*>(&header), sizeof(header)});
}

std::string_view magic_bytes() {
  static constexpr std::uint32_t kMagic = kRecordMagic;
  return {reinterpret_cast<const char*>(&kMagic), sizeof(kMagic)};
}

struct Proof {
  std::uint64_t offset = 0;
  std::uint64_t seq = 0;
};

// Looks for a sound record at or after `from` that was written when record chain.seq_next already
// was durable (or that should stand before it). Records of the same unsynced batch prove nothing.
std::optional<Proof> find_proof(std::string_view bytes, std::size_t from,
                                const RecordChain& chain) {
  std::size_t at = from;
  while (at < bytes.size() && (at = bytes.find(magic_bytes(), at)) != std::string_view::npos) {
    const RecordCheck check = check_record(bytes.substr(at), chain);
    const bool is_sound =
        check.state == RecordState::kGood || check.state == RecordState::kBadChain;
    const RecordHeader& found = check.record.header;
    if (is_sound && (found.durable_seq >= chain.seq_next || found.seq < chain.seq_next))
      return Proof{at, found.seq};
    at += is_sound ? check.record.bytes() : 1;
  }
  return std::nullopt;
}

}  // namespace

void append_segment_header(std::string& buffer, SegmentHeader header) {
  header.crc = crc_of(header);
  buffer.append(reinterpret_cast<const char*>(&header), sizeof(header));
}

Result<SegmentHeader> read_segment_header(std::string_view bytes) {
  SegmentHeader header;
  const auto magic = header.magic;
  if (bytes.size() < sizeof(header)) return fail(ErrorCode::kCorrupt, "segment header cut short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != magic)
    return fail(ErrorCode::kCorrupt, "not a journal segment (wrong magic)");
  if (header.crc != crc_of(header))
    return fail(ErrorCode::kCorrupt, "segment header damaged (checksum)");
  if (header.version > kJournalVersion) {
    return fail(ErrorCode::kInvalid,
                "written by a newer release (journal version " + std::to_string(header.version) +
                    ", this release reads up to " + std::to_string(kJournalVersion) + ")");
  }
  if (header.seq_first == 0)
    return fail(ErrorCode::kCorrupt, "segment header damaged (first record 0)");
  return header;
}

SegmentReader::SegmentReader(std::string_view bytes, const SegmentHeader& header)
    : bytes_(bytes), header_(header), chain_(header.chain()), offset_(sizeof(SegmentHeader)) {
  end_.offset = offset_;
  end_.seq_next = chain_.seq_next;
}

Result<SegmentReader> SegmentReader::open(std::string_view bytes) {
  if (bytes.size() > kSegmentFileBytesMax) return fail(ErrorCode::kCorrupt, "segment too large");
  Result<SegmentHeader> header = read_segment_header(bytes);
  if (!header) return header.error();
  return SegmentReader(bytes, *header);
}

std::optional<RecordView> SegmentReader::next() {
  const RecordCheck check = check_record(bytes_.substr(offset_), chain_);
  if (check.state != RecordState::kGood) {
    judge_end(check);
    return std::nullopt;
  }
  offset_ += check.record.bytes();
  chain_ = after(chain_, check.record);
  end_.offset = offset_;
  end_.seq_next = chain_.seq_next;
  return check.record;
}

void SegmentReader::judge_end(const RecordCheck& check) {
  const std::string_view rest = bytes_.substr(offset_);
  if (check.state == RecordState::kEnd && rest.find_first_not_of('\0') == std::string_view::npos) {
    end_.kind = SegmentEndKind::kClean;
    return;
  }
  // A sound record in the wrong place never comes from a torn write: the salt is this segment's
  // own.
  std::size_t from = offset_;
  if (check.state == RecordState::kBadPayload) from += check.needed;
  std::optional<Proof> proof = find_proof(bytes_, from, chain_);
  // A sound record in the wrong place never comes from a torn write: the salt is this segment's
  // own.
  if (check.state == RecordState::kBadChain) proof = Proof{offset_, check.record.header.seq};
  end_.kind = proof ? SegmentEndKind::kDamaged : SegmentEndKind::kTorn;
  if (!proof) return;
  end_.offset_proof = proof->offset;
  end_.seq_proof = proof->seq;
}

std::string segment_file_name(std::uint64_t seq_first) {
  const std::string digits = std::to_string(seq_first);
  return std::string(kSegmentPrefix) + std::string(kSeqDigits - digits.size(), '0') + digits;
}

std::optional<std::uint64_t> parse_segment_file_name(std::string_view name) {
  if (name.size() != kSegmentPrefix.size() + kSeqDigits ||
      name.substr(0, kSegmentPrefix.size()) != kSegmentPrefix) {
    return std::nullopt;
  }
  name.remove_prefix(kSegmentPrefix.size());
  std::uint64_t seq = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), seq);
  if (error != std::errc() || end != name.data() + name.size() || seq == 0) return std::nullopt;
  return seq;
}

}  // namespace muster
