// The spec and the files of an attempt, to bytes and back.
#include "base/order/attempt_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "base/order/fd.h"
#include "base/order/local_wire.h"
#include "base/order/small_file.h"

namespace muster {
namespace {

constexpr std::uint16_t kFileVersion = 1;
constexpr std::size_t kTokenBytesMax = 64;
constexpr std::size_t kShortTextMax = 255;

template <class Wire>
void describe_version(Wire& wire) {
  std::uint16_t version = kFileVersion;
  wire.number(version);
  wire.require(version == kFileVersion);
}

template <class Wire>
void describe_ports(Wire& wire, std::vector<std::uint16_t>& ports) {
  wire.list(ports, kPortsMax, [&](std::uint16_t& port) { wire.number(port); });
}

template <class Wire>
void describe(Wire& wire, ShepherdSpec& v) {
  describe_version(wire);
  wire.choice(v.mode);
  wire::describe(wire, v.key);
  wire.text(v.node, kNameBytesMax);
  wire.blob(v.token, kTokenBytesMax);
  wire.text(v.cgroup_group, kShortTextMax);
  wire.text(v.scripts_path, kPathBytesMax);
  wire.flag(v.single_user);
  wire.text(v.nccl_interface, kShortTextMax);
  wire.text(v.gloo_interface, kShortTextMax);
  wire.blob(v.common, kCommonOrderBytesMax);
  wire.blob(v.node_order, kNodeOrderBytesMax);
  wire.blob(v.script, kScriptBytesMax);
  wire.blob(v.environment, kEnvironmentBytesMax);
  describe_ports(wire, v.ports);
  wire::describe(wire, v.pins);
  wire::describe(wire, v.reap_cause);
  wire.flag(v.reap_launched);
}

template <class Wire>
void describe(Wire& wire, ShepherdRecord& v) {
  describe_version(wire);
  wire::describe(wire, v.key);
  wire.number(v.pid);
  wire.number(v.start_time);
  wire.text(v.boot_id, kShortTextMax);
  wire.blob(v.token, kTokenBytesMax);
  wire.id(v.epoch);
  describe_ports(wire, v.ports);
}

template <class Wire>
void describe(Wire& wire, StreamRecord& v) {
  wire.text(v.path, kPathBytesMax);
  wire.number(v.device);
  wire.number(v.inode);
}

template <class Wire>
void describe(Wire& wire, TasksRecord& v) {
  describe_version(wire);
  wire.id(v.uid);
  wire.id(v.gid);
  wire.list(v.groups, kSupplementaryGroupsMax, [&](std::uint32_t& gid) { wire.number(gid); });
  wire.number(v.pid1);
  wire.number(v.pid1_start_time);
  wire.list(v.tasks, kTasksPerNodeMax, [&](TaskRecord& task) {
    wire.number(task.rank);
    wire.number(task.pid);
    wire.number(task.namespace_pid);
    wire.number(task.start_time);
    describe(wire, task.output);
    describe(wire, task.errors);
  });
}

template <class Wire>
void describe(Wire& wire, ExitFile& v) {
  describe_version(wire);
  wire::describe(wire, v.key);
  wire.id(v.epoch);
  wire.number(v.order_expiry_s);
  wire::describe(wire, v.record);
}

constexpr auto kDescribe = [](auto& wire, auto& value) { describe(wire, value); };

}  // namespace

Result<std::string> encode_file(const ShepherdSpec& value) {
  return wire::encode_with(value, "spec", kDescribe);
}
Result<std::string> encode_file(const ShepherdRecord& value) {
  return wire::encode_with(value, "shepherd record", kDescribe);
}
Result<std::string> encode_file(const TasksRecord& value) {
  return wire::encode_with(value, "tasks record", kDescribe);
}
Result<std::string> encode_file(const ExitFile& value) {
  return wire::encode_with(value, "exit record", kDescribe);
}

template <class Value>
Result<Value> decode_file(std::string_view bytes) {
  return wire::decode_with<Value>(bytes, "attempt file", kDescribe);
}

template Result<ShepherdSpec> decode_file(std::string_view);
template Result<ShepherdRecord> decode_file(std::string_view);
template Result<TasksRecord> decode_file(std::string_view);
template Result<ExitFile> decode_file(std::string_view);

Result<void> write_exit_file(int attempt_directory, const ExitFile& exit) {
  const Result<std::string> bytes = encode_file(exit);
  if (!bytes.ok()) return bytes.error();
  // The draft may be a preallocated one: write into it rather than truncate first.
  const Fd file(::openat(attempt_directory, kExitDraftFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() ||
      ::write(file.number(), bytes->data(), bytes->size()) != static_cast<ssize_t>(bytes->size()) ||
      ::ftruncate(file.number(), static_cast<off_t>(bytes->size())) != 0 ||
      ::fsync(file.number()) != 0) {
    const Error error = failed("write exit record");
    struct stat facts {};
    const bool is_deleted = ::fstat(attempt_directory, &facts) == 0 && facts.st_nlink == 0;
    return is_deleted ? fail(ErrorCode::kNotFound, error.message) : error;
  }
  if (::renameat(attempt_directory, kExitDraftFile, attempt_directory, kExitFile) != 0 ||
      ::fsync(attempt_directory) != 0) {
    return failed("keep exit record");
  }
  return {};
}

}  // namespace muster
