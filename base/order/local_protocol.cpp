// Frames between worker, launcher and shepherd: one description of each message for both
// directions.
#include "base/order/local_protocol.h"

#include <algorithm>

#include "base/order/local_wire.h"

namespace muster {
namespace {

constexpr std::size_t kTokenBytesMax = 64;
constexpr std::size_t kTextMax = 1024;
constexpr std::size_t kWarningsMax = 32;
constexpr std::uint8_t kFdBit = 0x80;

template <class Message>
constexpr LocalType kTypeOf = LocalType::kHello;
template <>
constexpr LocalType kTypeOf<LocalPrepare> = LocalType::kPrepare;
template <>
constexpr LocalType kTypeOf<LocalGo> = LocalType::kGo;
template <>
constexpr LocalType kTypeOf<LocalKill> = LocalType::kKill;
template <>
constexpr LocalType kTypeOf<LocalSignal> = LocalType::kSignal;
template <>
constexpr LocalType kTypeOf<LocalForget> = LocalType::kForget;
template <>
constexpr LocalType kTypeOf<LocalList> = LocalType::kList;
template <>
constexpr LocalType kTypeOf<LocalLogOpen> = LocalType::kLogOpen;
template <>
constexpr LocalType kTypeOf<LocalState> = LocalType::kState;
template <>
constexpr LocalType kTypeOf<LocalListEnd> = LocalType::kListEnd;
template <>
constexpr LocalType kTypeOf<LocalLogOpened> = LocalType::kLogOpened;

template <class Wire>
void describe(Wire& wire, LocalHello& m) {
  wire.number(m.version_min);
  wire.number(m.version_max);
  wire.blob(m.token, kTokenBytesMax);
  wire.text(m.node, kNameBytesMax);
}

template <class Wire>
void describe(Wire& wire, LocalPrepare& m) {
  wire::describe(wire, m.key);
  wire.blob(m.common, kCommonOrderBytesMax);
  wire.raw(m.common_signature);
  wire.blob(m.node, kNodeOrderBytesMax);
  wire.raw(m.node_signature);
  wire.blob(m.script, kScriptBytesMax);
  wire.blob(m.environment, kEnvironmentBytesMax);
  wire::describe(wire, m.pins);
}

template <class Wire>
void describe(Wire& wire, LocalGo& m) {
  wire::describe(wire, m.key);
  wire.blob(m.go, kGoOrderBytesMax);
  wire.raw(m.signature);
}

template <class Wire>
void describe(Wire& wire, LocalKill& m) {
  wire::describe(wire, m.key);
  wire.choice(m.kind);
  wire.text(m.by, kTextMax);
  wire.number(m.grace_ms);
}

template <class Wire>
void describe(Wire& wire, LocalSignal& m) {
  wire::describe(wire, m.key);
  wire.number(m.signal);
  wire.flag(m.tasks_only);
}

template <class Wire>
void describe(Wire& wire, LocalForget& m) {
  wire::describe(wire, m.key);
}

template <class Wire>
void describe(Wire&, LocalList&) {}

template <class Wire>
void describe(Wire&, LocalListEnd&) {}

template <class Wire>
void describe(Wire& wire, LocalLogOpen& m) {
  wire.number(m.number);
  wire::describe(wire, m.key);
  wire.number(m.rank);
  wire.flag(m.errors);
}

template <class Wire>
void describe(Wire& wire, LocalLogOpened& m) {
  wire.number(m.number);
  wire.text(m.error, kTextMax);
  wire.text(m.path, kPathBytesMax);
}

template <class Wire>
void describe(Wire& wire, LocalState& m) {
  wire::describe(wire, m.key);
  wire.choice(m.phase);
  wire.id(m.epoch);
  wire.list(m.ports, kPortsMax, [&](std::uint16_t& port) { wire.number(port); });
  wire.list(m.warnings, kWarningsMax, [&](std::string& text) { wire.text(text, kTextMax); });
  wire::describe(wire, m.record);
  wire::describe_cpus(wire, m.cpus);
}

constexpr auto kDescribe = [](auto& wire, auto& message) { describe(wire, message); };

template <class Message>
Result<std::string> framed(const Message& message, bool has_fd = false) {
  Result<std::string> body = wire::encode_with(message, "local frame", kDescribe);
  if (!body.ok()) return body;
  wire::Writer header;
  header.number(static_cast<std::uint32_t>(body->size() + 1));
  const auto type = static_cast<std::uint8_t>(kTypeOf<Message>);
  header.number(static_cast<std::uint8_t>(has_fd ? type | kFdBit : type));
  return header.take() + *body;
}

}  // namespace

std::vector<std::uint32_t> cpus_of(const std::vector<RankPin>& pins) {
  std::vector<std::uint32_t> cpus;
  for (const RankPin& pin : pins) cpus.insert(cpus.end(), pin.cpus.begin(), pin.cpus.end());
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Result<std::string> encode_local(const LocalHello& m) { return framed(m); }
Result<std::string> encode_local(const LocalPrepare& m) { return framed(m); }
Result<std::string> encode_local(const LocalGo& m) { return framed(m); }
Result<std::string> encode_local(const LocalKill& m) { return framed(m); }
Result<std::string> encode_local(const LocalSignal& m) { return framed(m); }
Result<std::string> encode_local(const LocalForget& m) { return framed(m); }
Result<std::string> encode_local(const LocalList& m) { return framed(m); }
Result<std::string> encode_local(const LocalLogOpen& m) { return framed(m); }
Result<std::string> encode_local(const LocalState& m) { return framed(m); }
Result<std::string> encode_local(const LocalListEnd& m) { return framed(m); }
Result<std::string> encode_local(const LocalLogOpened& m) { return framed(m, m.error.empty()); }

template <class Message>
Result<Message> decode_local(const LocalFrame& frame) {
  if (frame.type != kTypeOf<Message>) return fail(ErrorCode::kCorrupt, "local frame: wrong type");
  return wire::decode_with<Message>(frame.body, "local frame", kDescribe);
}

template Result<LocalHello> decode_local(const LocalFrame&);
template Result<LocalPrepare> decode_local(const LocalFrame&);
template Result<LocalGo> decode_local(const LocalFrame&);
template Result<LocalKill> decode_local(const LocalFrame&);
template Result<LocalSignal> decode_local(const LocalFrame&);
template Result<LocalForget> decode_local(const LocalFrame&);
template Result<LocalList> decode_local(const LocalFrame&);
template Result<LocalLogOpen> decode_local(const LocalFrame&);
template Result<LocalState> decode_local(const LocalFrame&);
template Result<LocalListEnd> decode_local(const LocalFrame&);
template Result<LocalLogOpened> decode_local(const LocalFrame&);

Result<std::uint16_t> agree_on_version(const LocalHello& peer) {
  const std::uint16_t version = std::min(peer.version_max, kLocalProtocol);
  if (version >= peer.version_min && version >= kLocalProtocolOldest) return version;
  return fail(ErrorCode::kUnavailable,
              "peer speaks local protocol " + std::to_string(peer.version_min) + " to " +
                  std::to_string(peer.version_max) + ", we speak " +
                  std::to_string(kLocalProtocolOldest) + " to " + std::to_string(kLocalProtocol));
}

}  // namespace muster
