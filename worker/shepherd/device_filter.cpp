// Device filters by raw bpf(2) on v2 and by files on v1.
#include "worker/shepherd/device_filter.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace muster {
namespace {

Error failed(const std::string& step) {
  return fail(ErrorCode::kUnavailable, "device filter: " + step + ": " + std::strerror(errno));
}

bool find_device(const std::string& path, DeviceRule& rule) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISCHR(facts.st_mode)) return false;
  rule = {major(facts.st_rdev), minor(facts.st_rdev)};
  return true;
}

std::vector<std::string> shared_device_paths() {
  std::vector<std::string> paths{
      "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/infiniband/rdma_cm",
      "/dev/gdrdrv",    "/dev/fuse",       "/dev/net/tun",          "/dev/knem",
      "/dev/xpmem",     "/dev/kfd"};
  for (int i = 0; i < 16; ++i) {
    paths.push_back("/dev/infiniband/uverbs" + std::to_string(i));
    paths.push_back("/dev/nvidia-fs" + std::to_string(i));
  }
  return paths;
}

bpf_insn instruction(int code, int to, int from, int jump, std::int32_t value) {
  bpf_insn one{};
  one.code = static_cast<std::uint8_t>(code);
  one.dst_reg = static_cast<std::uint8_t>(to & 0xf);
  one.src_reg = static_cast<std::uint8_t>(from & 0xf);
  one.off = static_cast<std::int16_t>(jump);
  one.imm = value;
  return one;
}

// Allows reading and writing the listed character devices; refuses making nodes and every block
// device.
std::vector<bpf_insn> program_for(const std::vector<DeviceRule>& rules) {
  constexpr int kLoad = BPF_LDX | BPF_MEM | BPF_W;
  constexpr int kUnless = BPF_JMP | BPF_JNE | BPF_K;
  constexpr int kSet = BPF_ALU64 | BPF_MOV | BPF_K;
  const bpf_insn leave = instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  std::vector<bpf_insn> code{
      instruction(kLoad, 2, 1, 0, 0),  // access << 16 | type
      instruction(kLoad, 4, 1, 4, 0),  // major
      instruction(kLoad, 5, 1, 8, 0),  // minor
      instruction(BPF_ALU64 | BPF_MOV | BPF_X, 3, 2, 0, 0),
      instruction(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xffff),
      instruction(BPF_ALU64 | BPF_RSH | BPF_K, 3, 0, 0, 16),
      instruction(BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, BPF_DEVCG_ACC_MKNOD),
      instruction(kSet, 0, 0, 0, 0),
      instruction(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1, BPF_DEVCG_DEV_CHAR),
      leave,
      instruction(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1, 0),
      leave,
  };
  for (const DeviceRule& rule : rules) {
    const bool any = rule.minor == DeviceRule::kAnyMinor;
    code.push_back(instruction(kUnless, 4, 0, any ? 2 : 3, static_cast<std::int32_t>(rule.major)));
    if (!any) code.push_back(instruction(kUnless, 5, 0, 2, static_cast<std::int32_t>(rule.minor)));
    code.push_back(instruction(kSet, 0, 0, 0, 1));
    code.push_back(leave);
  }
  code.push_back(leave);
  return code;
}

long call_bpf(int command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof(attributes));
}

Result<void> attach_unified(const std::string& group, const std::vector<DeviceRule>& rules) {
  const std::vector<bpf_insn> code = program_for(rules);
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = reinterpret_cast<std::uintptr_t>(code.data());
  load.insn_cnt = static_cast<std::uint32_t>(code.size());
  load.license = reinterpret_cast<std::uintptr_t>("Apache-2.0");
  const Fd program(static_cast<int>(call_bpf(BPF_PROG_LOAD, load)));
  if (!program.is_open()) return failed("load");
  const Fd directory(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return failed("open " + group);
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(directory.number());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(program.number());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (call_bpf(BPF_PROG_ATTACH, attach) != 0) return failed("attach");
  bpf_attr query{};
  query.query.target_fd = static_cast<std::uint32_t>(directory.number());
  query.query.attach_type = BPF_CGROUP_DEVICE;
  if (call_bpf(BPF_PROG_QUERY, query) != 0 || query.query.prog_cnt == 0) return failed("read back");
  return {};
}

Result<void> attach_v1(const std::string& group, const std::vector<DeviceRule>& rules) {
  Result<void> written = write_small_file(group + "/devices.deny", "a");
  std::string expected;
  for (const DeviceRule& rule : rules) {
    if (!written.ok()) return written;
    const bool any = rule.minor == DeviceRule::kAnyMinor;
    const std::string minor_text = any ? "*" : std::to_string(rule.minor);
    const std::string line = "c " + std::to_string(rule.major) + ":" + minor_text + " rw";
    expected += line + "\n";
    written = write_small_file(group + "/devices.allow", line);
  }
  if (!written.ok()) return written;
  const Result<std::string> list = read_small_file(group + "/devices.list");
  if (!list.ok()) return list.error();
  if (*list == expected) return {};
  return fail(ErrorCode::kUnavailable, "device filter: devices.list is not what was written");
}

}  // namespace

Result<std::vector<DeviceRule>> device_rules(const std::vector<OrderDevice>& granted) {
  // null zero full random urandom, tty ptmx, and the pseudo terminals.
  std::vector<DeviceRule> rules{{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 2}};
  rules.push_back({136, DeviceRule::kAnyMinor});
  DeviceRule rule;
  for (const std::string& path : shared_device_paths()) {
    if (find_device(path, rule)) rules.push_back(rule);
  }
  for (const OrderDevice& device : granted) {
    if (device.path.empty()) continue;
    const bool is_in_dev =
        device.path.compare(0, 5, "/dev/") == 0 && device.path.find("/..") == std::string::npos;
    if (!is_in_dev || !find_device(device.path, rule)) {
      return fail(ErrorCode::kUnavailable,
                  "device filter: " + device.path + " is not a character device here");
    }
    rules.push_back(rule);
  }
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  return rules;
}

Result<void> attach_device_filter(const AttemptCgroup& cgroup,
                                  const std::vector<OrderDevice>& granted) {
  const Result<std::vector<DeviceRule>> rules = device_rules(granted);
  if (!rules.ok()) return rules.error();
  const std::string unified = cgroup.unified_tasks();
  const std::string v1 = cgroup.v1_directory("devices");
  Result<void> attached = fail(ErrorCode::kUnavailable, "device filter: no control group for it");
  if (!unified.empty()) attached = attach_unified(unified, *rules);
  if (!attached.ok() && !v1.empty()) attached = attach_v1(v1, *rules);
  return attached;
}

}  // namespace muster
