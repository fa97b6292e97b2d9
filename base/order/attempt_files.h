// What the launcher hands a shepherd when it starts one, and the files of an attempt (root only).
// All are read again by the launcher after a restart, so each is checked like foreign bytes.
//
// In the attempt's directory, which outlives a reboot:
//   exit          how it ended: tmp, fsync, rename, fsync of the directory; only then reported
//   out.R err.R   output of rank R that no file of the user's takes
// In the run directory, best on a tmpfs, after the attempt's name:
//   .shepherd     who the shepherd is; written first, exclusively: the claim on the attempt
//   .tasks        the ranks and where their output went
//   .socket       where the shepherd listens
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/order/local_protocol.h"

namespace muster {

constexpr char kExitFile[] = "exit";
constexpr char kExitDraftFile[] = "exit.tmp";
constexpr char kShepherdSuffix[] = ".shepherd";
constexpr char kTasksSuffix[] = ".tasks";
constexpr char kSocketSuffix[] = ".socket";

enum class ShepherdMode : std::uint8_t { kRun, kReap, kSweep };
template <>
struct EnumNames<ShepherdMode> {
  static constexpr std::array<std::string_view, 3> kNames{"run", "reap", "sweep"};
};

// Descriptors a shepherd starts with; held ports follow from kFirstPortFd on.
constexpr int kSpecFd = 3;        // Sealed memory file with the ShepherdSpec.
constexpr int kStatusFd = 4;      // Local protocol to the launcher.
constexpr int kAttemptDirFd = 5;  // The attempt's directory.
constexpr int kScriptsDirFd = 6;  // Where scripts are spooled, one file per attempt.
constexpr int kRunDirFd = 7;
constexpr int kFirstPortFd = 8;

struct ShepherdSpec {
  ShepherdMode mode = ShepherdMode::kRun;
  AttemptKey key;
  std::string node;
  std::string token;           // Random; the launcher shows it when it comes back.
  std::string cgroup_group;    // Path that this launcher's attempts share: [/...]/muster/NAME.
  std::string scripts_path;    // Of kScriptsDirFd, for the script's $0.
  bool single_user = false;    // Not root: no change of identity, cgroups only where delegated.
  std::string nccl_interface;  // Empty: leave NCCL_SOCKET_IFNAME alone.
  std::string gloo_interface;
  std::string common;
  std::string node_order;
  std::string script;
  std::string environment;
  std::vector<std::uint16_t> ports;
  std::vector<RankPin> pins;
  Cause reap_cause;  // Mode reap: what the exit record will say.
  bool reap_launched = false;
};

struct ShepherdRecord {
  AttemptKey key;
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;  // Of /proc/PID/stat: tells a recycled pid apart.
  std::string boot_id;
  std::string token;
  Epoch epoch;
  std::vector<std::uint16_t> ports;
};

struct StreamRecord {
  std::string path;  // Empty: in the attempt's directory, served by us only.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

struct TaskRecord {
  std::uint32_t rank = 0;
  std::int32_t pid = 0;            // On the host.
  std::int32_t namespace_pid = 0;  // In its pid namespace.
  std::uint64_t start_time = 0;
  StreamRecord output;
  StreamRecord errors;
};

struct TasksRecord {
  Uid uid;
  Gid gid;
  std::vector<std::uint32_t> groups;
  std::int32_t pid1 = 0;  // On the host.
  std::uint64_t pid1_start_time = 0;
  std::vector<TaskRecord> tasks;
};

struct ExitFile {
  AttemptKey key;
  Epoch epoch;
  std::int64_t order_expiry_s = 0;  // Until then a replayed order must still be refused.
  ExitRecord record;
};

constexpr std::size_t kSpecBytesMax = kLocalFrameBytesMax + (64U << 10U);
constexpr std::size_t kTasksBytesMax = 64U << 20U;
constexpr std::size_t kRecordBytesMax = 16U << 10U;

Result<std::string> encode_file(const ShepherdSpec& value);
Result<std::string> encode_file(const ShepherdRecord& value);
Result<std::string> encode_file(const TasksRecord& value);
Result<std::string> encode_file(const ExitFile& value);

// The exit record: written beside, synced, renamed, the directory synced. The caller retries a
// failure, but for kNotFound: the directory is deleted, nobody can ever read it.
Result<void> write_exit_file(int attempt_directory, const ExitFile& file);

// kCorrupt unless bytes are exactly one such value.
template <class Value>
Result<Value> decode_file(std::string_view bytes);

}  // namespace muster
