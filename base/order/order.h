// The launch order: what a controller signs and a launcher on a node obeys.
//
//   common  signed once per attempt and equal for all its nodes: who, what, where, until when
//   node    signed per node: cpus, memory, devices; names the common part by its hash
//   go      phase two: everybody is prepared, here is the address to meet at
//
// Layout (all orders): "MUO1", kind (1 byte), version (2), key id (4), then the fields in the order
// of order.cpp. A field is only ever added at the end together with a higher version; a decoder
// refuses a version it does not know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/ids.h"
#include "base/types/job_spec.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

constexpr std::uint16_t kOrderVersion = 1;
constexpr std::int64_t kOrderLifeSeconds = 120;
constexpr std::int64_t kClockSkewSeconds = 60;
constexpr std::size_t kCommonOrderBytesMax = 4U << 20U;
constexpr std::size_t kNodeOrderBytesMax = 64U << 10U;
constexpr std::size_t kGoOrderBytesMax = 4U << 10U;
constexpr std::size_t kSupplementaryGroupsMax = 4096;
constexpr std::size_t kDevicesPerNodeMax = 256;
constexpr std::size_t kPortsMax =
    64;  // On the first node: the master port and those wished with --ports.

enum class OrderKind : std::uint8_t { kCommon = 1, kNode = 2, kGo = 3 };

// One node of the attempt. Members are in rank order; ranks are contiguous from 0.
struct OrderMember {
  std::string node;
  std::uint32_t rank_first = 0;
  std::uint32_t tasks = 1;
  std::uint32_t group = 0;
  auto operator<=>(const OrderMember&) const = default;
};

struct ArrayFacts {
  bool is_array = false;  // False: element is 0 and the rest means nothing.
  std::uint32_t count = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  auto operator<=>(const ArrayFacts&) const = default;
};

struct CommonOrder {
  std::uint32_t key_id = 0;
  Uuid cluster;
  AttemptKey attempt;
  Epoch epoch;
  std::int64_t not_before_s =
      0;  // Wall seconds; accepted with kClockSkewSeconds of tolerance on both ends.
  std::int64_t expiry_s = 0;  // Usually not_before_s + kOrderLifeSeconds.
  Uid uid;
  Gid gid;
  std::vector<std::uint32_t> groups;  // Supplementary, resolved once at the controller.
  std::string user;
  std::string home;
  std::string shell;
  Hash256 script_hash;            // content_hash of the script; all zero when there is none.
  std::uint32_t script_size = 0;  // 0: no script.
  Hash256 environment_hash;       // content_hash of the environment; all zero when it is empty.
  std::uint32_t environment_size = 0;
  LaunchSpec launch;  // output and error are raw patterns: the shepherd expands all of %j %A %a %x
                      // %u %N %n %t %r.
  std::string job_name;
  std::string queue;
  std::string account;
  std::string submit_host;
  ArrayFacts array;
  std::int64_t time_limit_s = 0;  // 0: none.
  std::int64_t kill_wait_s = 30;  // Between SIGTERM and SIGKILL.
  std::uint32_t ports = 0;        // Held on the first node: the master port first. 0: none.
  bool no_new_privileges = true;
  bool pid_namespace = true;
  bool append_banner =
      false;  // An attempt after the first: append to its files, after a line that says so.
  std::vector<OrderMember> members;
  auto operator<=>(const CommonOrder&) const = default;
};

struct OrderDevice {
  std::string uuid;
  std::uint32_t index = 0;
  std::uint32_t minor = 0;
  std::string path;  // Character device; empty when there is none (simulated).
  auto operator<=>(const OrderDevice&) const = default;
};

struct NodeOrder {
  std::uint32_t key_id = 0;
  AttemptKey attempt;
  Hash256 common_hash;  // content_hash of the encoded common part.
  std::string node;
  std::uint32_t member = 0;          // Index into CommonOrder::members; that member's name is node.
  std::uint32_t cpus = 0;            // 0: no limit.
  std::uint64_t memory_mib = 0;      // 0: no limit.
  std::vector<OrderDevice> devices;  // By index.
  bool device_filter = false;        // Wanted; then a node that cannot filter refuses the launch.
  auto operator<=>(const NodeOrder&) const = default;
};

// How many processes that member's node starts: none, one, or one for each task.
std::uint32_t processes_of(const CommonOrder& common, std::uint32_t member);

struct GoOrder {
  std::uint32_t key_id = 0;
  Uuid cluster;
  AttemptKey attempt;
  Epoch epoch;
  std::int64_t expiry_s = 0;
  std::string master_address;
  std::vector<std::uint16_t> ports;  // As the first node reported them; the master port first.
  auto operator<=>(const GoOrder&) const = default;
};

// Pure. encode fails with kLimit; decode with kCorrupt, and also refuses what contradicts itself
// (members whose ranks are not contiguous, a relative cwd, a member index out of range).
Result<std::string> encode_order(const CommonOrder& order);
Result<std::string> encode_order(const NodeOrder& order);
Result<std::string> encode_order(const GoOrder& order);
Result<CommonOrder> decode_common_order(std::string_view bytes);
Result<NodeOrder> decode_node_order(std::string_view bytes);
Result<GoOrder> decode_go_order(std::string_view bytes);

// The key id stands at a fixed place, so that a signature can be checked before anything else is
// read.
Result<std::uint32_t> order_key_id(std::string_view bytes);

// kInvalid with a text for people when now is outside [not_before, expiry] by more than the
// tolerance.
Result<void> check_order_time(std::int64_t not_before_s, std::int64_t expiry_s, std::int64_t now_s);

}  // namespace muster
