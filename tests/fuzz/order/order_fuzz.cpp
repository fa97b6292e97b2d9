// Anything at all in place of an order, a local frame, an attempt's file or the pinned keys: it is
// refused, or it is exactly what its decoded form encodes to. The first byte chooses the decoder.
#include <cstdint>
#include <string_view>

#include "base/order/attempt_files.h"
#include "base/order/local_protocol.h"
#include "base/order/order.h"
#include "base/order/signing.h"

namespace muster {
namespace {

void encodes_again(const Result<std::string>& again, std::string_view bytes) {
  MUSTER_ASSERT(again.ok() && *again == bytes);
}

template <class Message>
void frame(std::uint8_t type, std::string_view bytes) {
  LocalFrame frame;
  frame.type = static_cast<LocalType>(type);
  frame.body = bytes;
  const Result<Message> message = decode_local<Message>(frame);
  if (!message.ok()) return;
  const Result<std::string> again = encode_local(*message);
  MUSTER_ASSERT(again.ok());
  encodes_again(again->substr(5), bytes);
}

template <class Value>
void file(std::string_view bytes) {
  const Result<Value> value = decode_file<Value>(bytes);
  if (value.ok()) encodes_again(encode_file(*value), bytes);
}

void order(std::uint8_t kind, std::string_view bytes) {
  (void)order_key_id(bytes).ok();
  if (kind == 0) {
    const Result<CommonOrder> common = decode_common_order(bytes);
    if (common.ok()) encodes_again(encode_order(*common), bytes);
  } else if (kind == 1) {
    const Result<NodeOrder> node = decode_node_order(bytes);
    if (node.ok()) encodes_again(encode_order(*node), bytes);
  } else {
    const Result<GoOrder> go = decode_go_order(bytes);
    if (go.ok()) encodes_again(encode_order(*go), bytes);
  }
}

void file_or_order(std::uint8_t chosen, std::string_view bytes) {
  switch (chosen) {
    case 3:
      return file<ShepherdSpec>(bytes);
    case 4:
      return file<ShepherdRecord>(bytes);
    case 5:
      return file<TasksRecord>(bytes);
    case 6:
      return file<ExitFile>(bytes);
    case 7:
      (void)parse_pinned_keys(bytes).ok();
      return;
    default:
      return order(chosen, bytes);
  }
}

void any_frame(std::uint8_t type, std::string_view bytes) {
  frame<LocalHello>(type, bytes);
  frame<LocalPrepare>(type, bytes);
  frame<LocalGo>(type, bytes);
  frame<LocalKill>(type, bytes);
  frame<LocalSignal>(type, bytes);
  frame<LocalForget>(type, bytes);
  frame<LocalLogOpen>(type, bytes);
  frame<LocalState>(type, bytes);
  frame<LocalLogOpened>(type, bytes);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::uint8_t kFiles = 8;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] < kFiles) {
    muster::file_or_order(data[0], rest);
  } else {
    muster::any_frame(static_cast<std::uint8_t>(data[0] - kFiles), rest);
  }
  return 0;
}
