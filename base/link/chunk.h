// The layer below whole payloads: one part of a link is either a whole payload or one chunk of a
// larger one.
//
//   whole: u8 0, bytes                       at most kLinkPartBytes
//   chunk: u8 1, u32 id, u32 index, u32 size of the payload, bytes      little-endian; index counts
//   from 0
//   greeting: u8 2                          a client's first part: the server learns whose
//   connection it is
//
// Chunks of one payload come in order and one payload at a time; whole payloads may come between.
// The last chunk is the one that completes the size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

constexpr std::size_t kChunkHeaderBytes = 13;
constexpr std::string_view kGreeting = "\2";

std::size_t parts_of(std::size_t payload_bytes);                       // At least 1.
std::size_t part_bytes(std::size_t payload_bytes, std::size_t index);  // With its header.
// Writes part_bytes(payload.size(), index) bytes to out.
void write_part(std::string_view payload, std::uint32_t id, std::size_t index, char* out);

// Puts the parts of one peer together. Memory grows with what has arrived, never with what was
// announced.
class Assembler {
 public:
  // A payload that is whole now, or nothing yet. kInvalid (bad header, out of order, too much) or
  // kLimit (announced size over kLinkPayloadBytesMax); what was unfinished is then dropped.
  Result<std::optional<std::string>> take(std::string_view part);
  std::size_t bytes() const { return bytes_.size(); }  // Held for an unfinished payload.
  bool is_idle() const { return !open_; }
  void reset();

 private:
  Result<std::optional<std::string>> take_chunk(std::string_view part);

  bool open_ = false;
  std::uint32_t id_ = 0;
  std::uint32_t index_next_ = 0;
  std::uint32_t size_ = 0;
  std::string bytes_;
};

}  // namespace muster
