// Parts of payloads: written, checked, put together.
#include "base/link/chunk.h"

#include <algorithm>
#include <cstring>

#include "base/link/link.h"

namespace muster {
namespace {

constexpr char kWhole = 0;
constexpr char kChunk = 1;
constexpr std::size_t kChunkDataBytes = kLinkPartBytes - kChunkHeaderBytes;

void put_u32(std::uint32_t value, char* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (8 * i) & 0xffU);
}

std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

}  // namespace

std::size_t parts_of(std::size_t payload_bytes) {
  if (payload_bytes < kLinkPartBytes) return 1;
  return (payload_bytes + kChunkDataBytes - 1) / kChunkDataBytes;
}

std::size_t part_bytes(std::size_t payload_bytes, std::size_t index) {
  if (payload_bytes < kLinkPartBytes) return payload_bytes + 1;
  const std::size_t begin = index * kChunkDataBytes;
  MUSTER_ASSERT(begin < payload_bytes);
  return kChunkHeaderBytes + std::min(kChunkDataBytes, payload_bytes - begin);
}

void write_part(std::string_view payload, std::uint32_t id, std::size_t index, char* out) {
  const std::size_t size = part_bytes(payload.size(), index);
  if (payload.size() < kLinkPartBytes) {
    out[0] = kWhole;
    std::copy(payload.begin(), payload.end(), out + 1);
    return;
  }
  out[0] = kChunk;
  put_u32(id, out + 1);
  put_u32(static_cast<std::uint32_t>(index), out + 5);
  put_u32(static_cast<std::uint32_t>(payload.size()), out + 9);
  std::memcpy(out + kChunkHeaderBytes, payload.data() + index * kChunkDataBytes,
              size - kChunkHeaderBytes);
}

void Assembler::reset() {
  open_ = false;
  std::string().swap(bytes_);
}

Result<std::optional<std::string>> Assembler::take(std::string_view part) {
  if (!part.empty() && part[0] == kWhole)
    return std::optional<std::string>(std::string(part.substr(1)));
  if (part.size() <= kChunkHeaderBytes || part[0] != kChunk) {
    reset();
    return fail(ErrorCode::kInvalid, "link: not a part");
  }
  auto taken = take_chunk(part);
  if (!taken) reset();
  return taken;
}

Result<std::optional<std::string>> Assembler::take_chunk(std::string_view part) {
  const std::uint32_t id = u32_at(part, 1);
  const std::uint32_t index = u32_at(part, 5);
  const std::uint32_t size = u32_at(part, 9);
  const std::string_view data = part.substr(kChunkHeaderBytes);
  if (size > kLinkPayloadBytesMax) return fail(ErrorCode::kLimit, "link: payload too large");
  if (index == 0) {  // What was unfinished before is given up: its sender has started anew.
    open_ = true;
    id_ = id;
    index_next_ = 0;
    size_ = size;
    bytes_.clear();
  }
  if (!open_ || id != id_ || index != index_next_ || size != size_) {
    return fail(ErrorCode::kInvalid, "link: chunk out of order");
  }
  if (data.size() > size_ - bytes_.size()) {
    return fail(ErrorCode::kInvalid, "link: more bytes than announced");
  }
  bytes_.append(data);
  ++index_next_;
  if (bytes_.size() < size_) return std::optional<std::string>();
  open_ = false;
  std::optional<std::string> whole(std::move(bytes_));
  bytes_ = {};
  return whole;
}

}  // namespace muster
