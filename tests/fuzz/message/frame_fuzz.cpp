// The frame parser: cut anywhere, a stream gives the same messages, and never holds more than
// arrived.
#include <cstdint>

#include "base/message/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = data[0] % 32U + 1;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const muster::FrameLimits limits{4096, 8192, 4};
  muster::FrameParser whole(limits);
  std::vector<std::string> at_once;
  const bool ok = whole.push(stream, at_once).ok();
  muster::FrameParser cut(limits);
  std::vector<std::string> piecewise;
  bool cut_ok = true;
  for (std::size_t at = 0; at < stream.size() && cut_ok; at += step) {
    cut_ok = cut.push(stream.substr(at, step), piecewise).ok();
    MUSTER_ASSERT(cut.bytes() <= at + step);
  }
  MUSTER_ASSERT(ok == cut_ok);
  MUSTER_ASSERT(at_once == piecewise);
  for (const auto& message : at_once) {
    MUSTER_ASSERT(message.size() <= limits.message_bytes_max);
    std::string framed;
    muster::append_frames(message, 1, framed);
    muster::FrameParser parser(limits);
    std::vector<std::string> back;
    MUSTER_ASSERT(parser.push(framed, back).ok() && back.size() == 1 && back[0] == message);
  }
  return 0;
}
