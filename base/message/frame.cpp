// Frames of the gateway's socket, written and taken apart.
#include "base/message/frame.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::uint8_t kFlagMore = 1;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kRestMin = kFrameHeaderBytes - kLengthBytes;  // Flags and id.

void put_u32(std::uint32_t value, std::string& out) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
}

std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

// Of the frame that begins with bytes (at least kLengthBytes); checked.
Result<std::size_t> frame_size(std::string_view bytes) {
  const std::size_t rest = u32_at(bytes, 0);
  if (rest < kRestMin) return fail(ErrorCode::kInvalid, "frame: too short to be one");
  if (rest > kRestMin + kFrameDataMax) {
    return fail(ErrorCode::kLimit, "frame: " + std::to_string(rest) + " bytes, at most " +
                                       std::to_string(kRestMin + kFrameDataMax) + " are taken");
  }
  return kLengthBytes + rest;
}

}  // namespace

void append_frames(std::string_view message, std::uint32_t id, std::string& out) {
  MUSTER_ASSERT(message.size() <= kMessageBytesMax);
  const std::size_t frames = message.size() / kFrameDataMax + 1;
  out.reserve(out.size() + message.size() + frames * kFrameHeaderBytes);
  do {
    const std::string_view data = message.substr(0, kFrameDataMax);
    message.remove_prefix(data.size());
    put_u32(static_cast<std::uint32_t>(kRestMin + data.size()), out);
    out.push_back(static_cast<char>(message.empty() ? 0 : kFlagMore));
    put_u32(id, out);
    out.append(data);
  } while (!message.empty());
}

Result<void> FrameParser::push(std::string_view bytes, std::vector<std::string>& messages) {
  if (is_lost_) return fail(ErrorCode::kInvalid, "frame: the stream is lost");
  while (!bytes.empty()) {
    // Fill up what was begun before: first the length, then the rest.
    if (partial_.size() < kLengthBytes) {
      const std::string_view head = bytes.substr(0, kLengthBytes - partial_.size());
      partial_.append(head);
      bytes.remove_prefix(head.size());
      if (partial_.size() < kLengthBytes) break;
    }
    const auto size = frame_size(partial_);
    if (!size) {
      is_lost_ = true;
      return size.error();
    }
    const std::string_view rest = bytes.substr(0, *size - partial_.size());
    partial_.append(rest);
    bytes.remove_prefix(rest.size());
    if (partial_.size() < *size) break;
    if (auto taken = take_frame(partial_, messages); !taken) {
      is_lost_ = true;
      return taken.error();
    }
    partial_.clear();
  }
  return {};
}

Result<void> FrameParser::take_frame(std::string_view frame, std::vector<std::string>& messages) {
  const auto flags = static_cast<std::uint8_t>(frame[kLengthBytes]);
  const std::uint32_t id = u32_at(frame, kLengthBytes + 1);
  const std::string_view data = frame.substr(kFrameHeaderBytes);
  if (flags > kFlagMore) return fail(ErrorCode::kInvalid, "frame: unknown flags");
  const bool more = flags == kFlagMore;
  if (more && data.empty()) return fail(ErrorCode::kInvalid, "frame: empty, and not the last");
  auto found = unfinished_.find(id);
  if (found == unfinished_.end()) {
    if (!more) {
      if (data.size() > limits_.message_bytes_max) {
        return fail(ErrorCode::kLimit, "frame: message too long");
      }
      messages.emplace_back(data);
      return {};
    }
    if (unfinished_.size() == limits_.unfinished_max) {
      return fail(ErrorCode::kLimit, "frame: too many unfinished messages");
    }
    found = unfinished_.try_emplace(id).first;
  }
  if (found->second.size() + data.size() > limits_.message_bytes_max ||
      unfinished_bytes_ + data.size() > limits_.unfinished_bytes_max) {
    return fail(ErrorCode::kLimit, "frame: message too long");
  }
  found->second.append(data);
  unfinished_bytes_ += data.size();
  if (more) return {};
  unfinished_bytes_ -= found->second.size();
  messages.push_back(std::move(found->second));
  unfinished_.erase(found);
  return {};
}

}  // namespace muster
