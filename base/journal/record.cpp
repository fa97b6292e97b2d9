// Writing and judging one record.
#include "base/journal/record.h"

#include <cstring>

#include "base/journal/crc32c.h"

namespace muster {
namespace {

std::string_view bytes_of(const RecordHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

std::uint32_t crc_of(RecordHeader header, std::string_view payload, std::uint32_t salt) {
  header.header_crc = 0;
  header.crc = 0;
  return crc32c(crc32c(salt, bytes_of(header)), payload);
}

std::uint32_t header_crc_of(RecordHeader header, std::uint32_t salt) {
  header.header_crc = 0;
  return crc32c(salt, bytes_of(header));
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

void append_record(std::string& buffer, const RecordLabel& label, std::string_view payload,
                   RecordChain& chain) {
  MUSTER_ASSERT(payload.size() <= kRecordBytesMax);
  MUSTER_ASSERT(label.seq == chain.seq_next);
  RecordHeader header;
  header.size = static_cast<std::uint32_t>(payload.size());
  header.type = label.type;
  header.version = label.version;
  header.seq = label.seq;
  header.epoch = label.epoch;
  header.durable_seq = label.durable_seq;
  header.previous_crc = chain.previous_crc;
  header.crc = crc_of(header, payload, chain.salt);
  header.header_crc = header_crc_of(header, chain.salt);
  buffer.append(bytes_of(header));
  buffer.append(payload);
  chain.previous_crc = header.crc;
  ++chain.seq_next;
}

RecordCheck check_record(std::string_view bytes, const RecordChain& chain) {
  RecordCheck check;
  check.needed = sizeof(RecordHeader);
  if (bytes.size() < sizeof(RecordHeader)) {
    check.state = is_zero(bytes) ? RecordState::kEnd : RecordState::kShort;
    return check;
  }
  RecordHeader& header = check.record.header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kRecordMagic || header.size > kRecordBytesMax ||
      header.header_crc != header_crc_of(header, chain.salt)) {
    check.state =
        is_zero(bytes.substr(0, sizeof(header))) ? RecordState::kEnd : RecordState::kBadHeader;
    return check;
  }
  check.needed = sizeof(header) + header.size;
  if (bytes.size() < check.needed) {
    check.state = RecordState::kShort;
    return check;
  }
  const std::string_view payload = bytes.substr(sizeof(header), header.size);
  if (header.crc != crc_of(header, payload, chain.salt)) {
    check.state = RecordState::kBadPayload;
    return check;
  }
  check.record.payload = payload;
  const bool is_next = header.seq == chain.seq_next && header.previous_crc == chain.previous_crc;
  check.state = is_next ? RecordState::kGood : RecordState::kBadChain;
  return check;
}

RecordChain after(const RecordChain& chain, const RecordView& record) {
  return {chain.salt, record.header.crc, record.header.seq + 1};
}

}  // namespace muster
