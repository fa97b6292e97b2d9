// Launch orders to bytes and back: one description of the fields for both directions.
#include "base/order/order.h"

#include "base/order/wire.h"

namespace muster {
namespace {

constexpr char kMagic[] = "MUO1";
constexpr std::size_t kKeyIdOffset = 7;
constexpr std::size_t kHeaderBytes = 11;
constexpr std::size_t kShortTextMax = 255;
constexpr std::size_t kDevicePathMax = 255;
constexpr std::int64_t kSecondsMax = 10LL * 366 * 24 * 3600;
constexpr std::uint32_t kNobody = 0xffffffffU;  // (uid_t)-1: setresuid would leave the id alone.

template <class Wire>
void describe_header(Wire& wire, OrderKind kind, std::uint32_t& key_id) {
  for (std::size_t i = 0; i < 4; ++i) {
    auto byte = static_cast<std::uint8_t>(kMagic[i]);
    wire.number(byte);
    wire.require(byte == static_cast<std::uint8_t>(kMagic[i]));
  }
  auto kind_byte = static_cast<std::uint8_t>(kind);
  wire.number(kind_byte);
  wire.require(kind_byte == static_cast<std::uint8_t>(kind));
  std::uint16_t version = kOrderVersion;
  wire.number(version);
  wire.require(version == kOrderVersion);
  wire.number(key_id);
}

template <class Wire>
void describe_launch(Wire& wire, LaunchSpec& launch) {
  wire.choice(launch.mode);
  wire.flag(launch.is_command);
  wire.list(launch.argv, kArgvBytesMax / 2,
            [&](std::string& word) { wire.text(word, kArgvBytesMax); });
  std::size_t argv_bytes = 0;
  for (const std::string& word : launch.argv) argv_bytes += word.size() + 1;
  wire.require(argv_bytes <= kArgvBytesMax);
  wire.text(launch.script_name, kPathBytesMax);
  wire.text(launch.cwd, kPathBytesMax);
  wire.text(launch.output, kPathBytesMax);
  wire.text(launch.error, kPathBytesMax);
  wire.choice(launch.open_mode);
  wire.flag(launch.make_directories);
  wire.number(launch.umask_bits);
  wire.choice(launch.gpu_bind);
  wire.number(launch.cpus_per_task);
}

template <class Wire>
void describe_identity(Wire& wire, CommonOrder& order) {
  wire.id(order.uid);
  wire.id(order.gid);
  wire.list(order.groups, kSupplementaryGroupsMax, [&](std::uint32_t& gid) { wire.number(gid); });
  wire.text(order.user, kShortTextMax);
  wire.text(order.home, kPathBytesMax);
  wire.text(order.shell, kPathBytesMax);
}

template <class Wire>
void describe_array(Wire& wire, ArrayFacts& array) {
  wire.flag(array.is_array);
  wire.number(array.count);
  wire.number(array.first);
  wire.number(array.last);
  wire.number(array.step);
}

template <class Wire>
void describe_member(Wire& wire, OrderMember& member) {
  wire.text(member.node, kNameBytesMax);
  wire.number(member.rank_first);
  wire.number(member.tasks);
  wire.number(member.group);
}

template <class Wire>
void describe(Wire& wire, CommonOrder& order) {
  describe_header(wire, OrderKind::kCommon, order.key_id);
  wire.raw(order.cluster);
  wire::describe(wire, order.attempt);
  wire.id(order.epoch);
  wire.number(order.not_before_s);
  wire.number(order.expiry_s);
  describe_identity(wire, order);
  wire.raw(order.script_hash);
  wire.number(order.script_size);
  wire.raw(order.environment_hash);
  wire.number(order.environment_size);
  describe_launch(wire, order.launch);
  wire.text(order.job_name, kJobNameBytesMax);
  wire.text(order.queue, kNameBytesMax);
  wire.text(order.account, kNameBytesMax);
  wire.text(order.submit_host, kShortTextMax);
  describe_array(wire, order.array);
  wire.number(order.time_limit_s);
  wire.number(order.kill_wait_s);
  wire.number(order.ports);
  wire.flag(order.no_new_privileges);
  wire.flag(order.pid_namespace);
  wire.flag(order.append_banner);
  wire.list(order.members, kNodesPerJobMax,
            [&](OrderMember& member) { describe_member(wire, member); });
}

template <class Wire>
void describe(Wire& wire, NodeOrder& order) {
  describe_header(wire, OrderKind::kNode, order.key_id);
  wire::describe(wire, order.attempt);
  wire.raw(order.common_hash);
  wire.text(order.node, kNameBytesMax);
  wire.number(order.member);
  wire.number(order.cpus);
  wire.number(order.memory_mib);
  wire.list(order.devices, kDevicesPerNodeMax, [&](OrderDevice& device) {
    wire.text(device.uuid, kShortTextMax);
    wire.number(device.index);
    wire.number(device.minor);
    wire.text(device.path, kDevicePathMax);
  });
  wire.flag(order.device_filter);
}

template <class Wire>
void describe(Wire& wire, GoOrder& order) {
  describe_header(wire, OrderKind::kGo, order.key_id);
  wire.raw(order.cluster);
  wire::describe(wire, order.attempt);
  wire.id(order.epoch);
  wire.number(order.expiry_s);
  wire.text(order.master_address, kShortTextMax);
  wire.list(order.ports, kPortsMax, [&](std::uint16_t& port) { wire.number(port); });
}

constexpr auto kDescribe = [](auto& wire, auto& order) { describe(wire, order); };

bool is_name(std::string_view name) {
  if (name.empty() || name.front() == '.') return false;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

bool is_within(std::int64_t value, std::int64_t max) { return value >= 0 && value <= max; }

Result<void> check(const CommonOrder& order) {
  const auto bad = [](const char* what) {
    return fail(ErrorCode::kCorrupt, std::string("order: ") + what);
  };
  if (order.members.empty()) return bad("no members");
  std::uint64_t rank = 0;
  for (const OrderMember& member : order.members) {
    if (!is_name(member.node)) return bad("a node name is not [A-Za-z0-9._-]");
    if (member.tasks == 0 || member.tasks > kTasksPerNodeMax)
      return bad("tasks of a member out of range");
    if (member.rank_first != rank) return bad("ranks are not contiguous");
    rank += member.tasks;
  }
  if (order.uid.value == kNobody || order.gid.value == kNobody) return bad("no such uid or gid");
  if (order.launch.cwd.empty() || order.launch.cwd.front() != '/')
    return bad("cwd is not absolute");
  if (order.launch.umask_bits > 0777) return bad("umask out of range");
  if (order.launch.is_command && order.launch.argv.empty()) return bad("no command");
  if (!order.launch.is_command && order.script_size == 0) return bad("no script");
  if (order.script_size > kScriptBytesMax) return bad("script too long");
  if (order.environment_size > kEnvironmentBytesMax) return bad("environment too long");
  if (order.ports > kPortsMax) return bad("too many ports");
  if (!is_within(order.time_limit_s, kSecondsMax)) return bad("time limit out of range");
  if (!is_within(order.kill_wait_s, kSecondsMax)) return bad("kill wait out of range");
  return {};
}

Result<void> check(const NodeOrder& order) {
  if (!is_name(order.node))
    return fail(ErrorCode::kCorrupt, "order: the node's name is not [A-Za-z0-9._-]");
  return {};
}

Result<void> check(const GoOrder&) { return {}; }

template <class Order>
Result<std::string> encode_checked(const Order& order, std::size_t bytes_max) {
  if (const Result<void> sound = check(order); !sound.ok()) return sound.error();
  Result<std::string> bytes = wire::encode_with(order, "order", kDescribe);
  if (bytes.ok() && bytes->size() > bytes_max) return fail(ErrorCode::kLimit, "order: too long");
  return bytes;
}

template <class Order>
Result<Order> decode_checked(std::string_view bytes, std::size_t bytes_max) {
  if (bytes.size() > bytes_max) return fail(ErrorCode::kCorrupt, "order: too long");
  Result<Order> order = wire::decode_with<Order>(bytes, "order", kDescribe);
  if (!order.ok()) return order;
  if (const Result<void> sound = check(*order); !sound.ok()) return sound.error();
  return order;
}

}  // namespace

Result<std::string> encode_order(const CommonOrder& order) {
  return encode_checked(order, kCommonOrderBytesMax);
}
Result<std::string> encode_order(const NodeOrder& order) {
  return encode_checked(order, kNodeOrderBytesMax);
}
Result<std::string> encode_order(const GoOrder& order) {
  return encode_checked(order, kGoOrderBytesMax);
}

Result<CommonOrder> decode_common_order(std::string_view bytes) {
  return decode_checked<CommonOrder>(bytes, kCommonOrderBytesMax);
}

Result<NodeOrder> decode_node_order(std::string_view bytes) {
  return decode_checked<NodeOrder>(bytes, kNodeOrderBytesMax);
}

Result<GoOrder> decode_go_order(std::string_view bytes) {
  return decode_checked<GoOrder>(bytes, kGoOrderBytesMax);
}

Result<std::uint32_t> order_key_id(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return fail(ErrorCode::kCorrupt, "order: too short");
  wire::Reader reader(bytes.substr(kKeyIdOffset, 4));
  std::uint32_t key_id = 0;
  reader.number(key_id);
  return key_id;
}

Result<void> check_order_time(std::int64_t not_before_s, std::int64_t expiry_s,
                              std::int64_t now_s) {
  if (now_s < not_before_s - kClockSkewSeconds) {
    return fail(ErrorCode::kInvalid, "order: not valid yet; this node's clock is " +
                                         std::to_string(not_before_s - now_s) +
                                         " s behind the controller's");
  }
  if (now_s > expiry_s + kClockSkewSeconds) {
    return fail(ErrorCode::kInvalid, "order: expired " + std::to_string(now_s - expiry_s) +
                                         " s ago by this node's clock");
  }
  return {};
}

std::uint32_t processes_of(const CommonOrder& common, std::uint32_t member) {
  if (common.launch.mode == LaunchMode::kTasks) return common.members[member].tasks;
  return common.launch.mode == LaunchMode::kTorchrun || member == 0 ? 1 : 0;
}

}  // namespace muster
