// Messages on the Unix stream socket between a command and its gateway. A message travels as one or
// more frames:
//
//   u32 length of the rest (5 … 5 + kFrameDataMax), u8 flags (1: more follows), u32 id, data
//   little-endian
//
// Frames of one message share an id and come in order; messages with different ids may interleave,
// so that a short request does not wait behind a long one. Only the last frame of a message may be
// empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

constexpr std::size_t kFrameDataMax = 256U << 10U;
constexpr std::size_t kFrameHeaderBytes = 9;
constexpr std::size_t kMessageBytesMax = 40U << 20U;  // Of one request or response.

// Appends the frames of a message to out. message.size() <= kMessageBytesMax.
void append_frames(std::string_view message, std::uint32_t id, std::string& out);

struct FrameLimits {
  std::size_t message_bytes_max = kMessageBytesMax;
  std::size_t unfinished_bytes_max = kMessageBytesMax;  // Of all unfinished messages together.
  std::size_t unfinished_max = 8;                       // Messages.
};

// Takes a stream in pieces of any size. After an error the stream is lost: every further call
// fails.
class FrameParser {
 public:
  explicit FrameParser(const FrameLimits& limits = {}) : limits_(limits) {}
  // Appends the messages that are complete now. kInvalid or kLimit with the reason.
  Result<void> push(std::string_view bytes, std::vector<std::string>& messages);
  std::size_t bytes() const { return partial_.size() + unfinished_bytes_; }  // Held.

 private:
  Result<void> take_frame(std::string_view frame, std::vector<std::string>& messages);

  FrameLimits limits_;
  std::string partial_;  // The beginning of a frame.
  std::map<std::uint32_t, std::string> unfinished_;
  std::size_t unfinished_bytes_ = 0;
  bool is_lost_ = false;
};

}  // namespace muster
