// What muster-worker, muster-launcher and muster-shepherd say to each other over Unix sockets of
// one node.
//
// A frame is a length (4 bytes, little-endian, of what follows), a type (1 byte; its top bit says
// that one file descriptor travels along) and the fields of the message. Both ends send hello
// first; they speak the highest version both know, and a release understands those of the two
// before it.
//
//   worker → launcher     hello prepare go kill signal forget list log-open
//   launcher → worker     hello state list-end log-opened
// The launcher sends `state` whenever an attempt's state changes, and one for each attempt it
// holds, then list-end, in answer to `list` (after a restart once every shepherd was found or given
// up). A prepare that is refused is answered with state ended and cause launch-failed. The same
// frames (hello, go, kill, signal, log-open; state, log-opened) pass between launcher and shepherd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/order/signing.h"
#include "base/types/cause.h"
#include "base/types/cpu_list.h"
#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

constexpr std::uint16_t kLocalProtocol = 1;
constexpr std::uint16_t kLocalProtocolOldest = 1;
constexpr std::size_t kPinsBytesMax = 1U << 20U;
constexpr std::size_t kLocalFrameBytesMax = kCommonOrderBytesMax + kNodeOrderBytesMax +
                                            kScriptBytesMax + kEnvironmentBytesMax + kPinsBytesMax +
                                            4096;

enum class LocalType : std::uint8_t {
  kHello = 1,
  kPrepare = 2,
  kGo = 3,
  kKill = 4,
  kSignal = 5,
  kForget = 6,
  kList = 7,
  kLogOpen = 8,
  kState = 65,
  kListEnd = 66,
  kLogOpened = 67,
};

// Where one process of an attempt runs.
struct RankPin {
  std::vector<std::uint32_t> cpus;  // Rising, each once.
  std::string hca;                  // The nearest to its GPU; empty: unknown, or several.
};

// All of them, rising, each once.
std::vector<std::uint32_t> cpus_of(const std::vector<RankPin>& pins);

struct LocalHello {
  std::uint16_t version_min = kLocalProtocolOldest;
  std::uint16_t version_max = kLocalProtocol;
  std::string token;  // Launcher to shepherd and back: proves they belong together. Else empty.
  std::string node;   // From the launcher: the name it answers to.
};

// Phase one. Answered by states: preparing, then prepared (with the ports on the first member), or
// ended.
struct LocalPrepare {
  AttemptKey key;  // As the orders say; for the answer when they cannot be read.
  std::string common;
  Signature common_signature;
  std::string node;
  Signature node_signature;
  std::string script;         // Empty when the order has none.
  std::string environment;    // KEY=VALUE, each followed by a NUL.
  std::vector<RankPin> pins;  // For each process of this node, or none: anywhere.
};

// Phase two: the tasks start. Repeating it is harmless.
struct LocalGo {
  AttemptKey key;
  std::string go;
  Signature signature;
};

// Ends an attempt in any state: SIGTERM, the grace, SIGKILL. For an attempt this node does not know
// it leaves a tombstone: a prepare that comes later is refused, and the answer is state ended,
// never launched.
struct LocalKill {
  AttemptKey key;
  CauseKind kind = CauseKind::kCancelled;  // What the exit record will say, with by.
  std::string by;              // "user kim (uid 1003)", "gang: rank 3 failed on n2", …
  std::int64_t grace_ms = -1;  // Below 0: the order's kill_wait.
};

struct LocalSignal {
  AttemptKey key;
  std::int32_t signal = 0;
  bool tasks_only = true;  // False: to every process of the job, not only the ranks.
};

// The record of an ended attempt may go. Ignored for one that has not ended.
struct LocalForget {
  AttemptKey key;
};

struct LocalList {};
struct LocalListEnd {};

// Answered by log-opened with the same number and, when there is such a file, a read-only
// descriptor of it. It shares its offset with others: use pread.
struct LocalLogOpen {
  std::uint64_t number = 0;
  AttemptKey key;
  std::int32_t rank = -1;  // Below 0: the first rank of this node.
  bool errors = false;     // Standard error instead of standard output.
};

struct LocalLogOpened {
  std::uint64_t number = 0;
  std::string error;  // Empty: a descriptor travels along.
  std::string path;   // As the user would find it; empty when only we serve it.
};

// The same words as the engine's and the wire's.
enum class LocalPhase : std::uint8_t { kPreparing, kPrepared, kRunning, kStopping, kEnded };
template <>
struct EnumNames<LocalPhase> {
  static constexpr std::array<std::string_view, 5> kNames{"preparing", "prepared", "running",
                                                          "stopping", "ended"};
};

struct LocalState {
  AttemptKey key;
  LocalPhase phase = LocalPhase::kPreparing;
  Epoch epoch;
  std::vector<std::uint16_t> ports;   // Held on this node; the master port first.
  std::vector<std::string> warnings;  // What could not be done as wished: "no memory limit: …".
  ExitRecord record;                  // Means something when ended.
  std::vector<std::uint32_t> cpus;    // That its processes are pinned to; none: anywhere.
};

struct LocalFrame {
  LocalType type = LocalType::kHello;
  bool has_fd = false;
  std::string body;
};

// Bytes of one frame, length included. kLimit when a field is over its limit.
Result<std::string> encode_local(const LocalHello& message);
Result<std::string> encode_local(const LocalPrepare& message);
Result<std::string> encode_local(const LocalGo& message);
Result<std::string> encode_local(const LocalKill& message);
Result<std::string> encode_local(const LocalSignal& message);
Result<std::string> encode_local(const LocalForget& message);
Result<std::string> encode_local(const LocalList& message);
Result<std::string> encode_local(const LocalLogOpen& message);
Result<std::string> encode_local(const LocalState& message);
Result<std::string> encode_local(const LocalListEnd& message);
Result<std::string> encode_local(
    const LocalLogOpened& message);  // Marks the descriptor when error is empty.

// The body of a frame of that type. kCorrupt when it is of another type or malformed.
template <class Message>
Result<Message> decode_local(const LocalFrame& frame);

// The version to speak with a peer that said hello; kUnavailable with a text when there is none.
Result<std::uint16_t> agree_on_version(const LocalHello& peer);

}  // namespace muster
