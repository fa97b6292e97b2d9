// Words, environment and files of each rank.
#include "worker/shepherd/plan.h"

#include <map>
#include <set>

#include "base/types/hostlist.h"

namespace muster {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::uint32_t tasks_in_all(const CommonOrder& common) {
  return common.members.back().rank_first + common.members.back().tasks;
}

// What a submitter's shell may carry from a job it runs in, and must not reach the next job.
bool is_of_a_job(std::string_view name) {
  static const std::set<std::string_view> kRankNames{
      "RANK",      "LOCAL_RANK",           "WORLD_SIZE",   "LOCAL_WORLD_SIZE", "GROUP_RANK",
      "NODE_RANK", "CUDA_VISIBLE_DEVICES", "NCCL_COMM_ID", "MUSTER_HCA",       "MUSTER_CPU_LIST"};
  return kRankNames.count(name) != 0 || name.substr(0, 13) == "MUSTER_ARRAY_" ||
         name.substr(0, 11) == "MUSTER_JOB_" || name.substr(0, 14) == "MUSTER_MASTER_";
}

using Variables = std::map<std::string, std::string>;

void add_job(Variables& v, const Launch& launch) {
  const CommonOrder& common = launch.common;
  v["MUSTER_JOB_ID"] = std::to_string(common.attempt.job.value);
  v["MUSTER_JOB_NAME"] = common.job_name;
  v["MUSTER_ATTEMPT"] = std::to_string(common.attempt.attempt.value);
  v["MUSTER_QUEUE"] = common.queue;
  v["MUSTER_ACCOUNT"] = common.account;
  v["MUSTER_SUBMIT_DIR"] = common.launch.cwd;
  v["MUSTER_SUBMIT_HOST"] = common.submit_host;
  v["MUSTER_TIME_LIMIT_S"] = std::to_string(common.time_limit_s);
  v["MUSTER_CPUS_PER_TASK"] = std::to_string(common.launch.cpus_per_task);
  if (common.array.is_array) {
    v["MUSTER_ARRAY_JOB_ID"] = v["MUSTER_JOB_ID"];
    v["MUSTER_ARRAY_TASK_ID"] = std::to_string(common.attempt.element.value);
    v["MUSTER_ARRAY_TASK_COUNT"] = std::to_string(common.array.count);
    v["MUSTER_ARRAY_TASK_MIN"] = std::to_string(common.array.first);
    v["MUSTER_ARRAY_TASK_MAX"] = std::to_string(common.array.last);
    v["MUSTER_ARRAY_TASK_STEP"] = std::to_string(common.array.step);
  }
}

void add_place(Variables& v, const Launch& launch) {
  const CommonOrder& common = launch.common;
  std::vector<std::string> names;
  for (const OrderMember& member : common.members) names.push_back(member.node);
  v["MUSTER_NODELIST"] = compress_hostlist(names);
  v["MUSTER_NNODES"] = std::to_string(names.size());
  v["MUSTER_NODE_RANK"] = std::to_string(launch.node.member);
  v["MUSTER_NODE_NAME"] = launch.node.node;
  v["MUSTER_GROUP"] = std::to_string(launch.member().group);
  v["MUSTER_NTASKS"] = std::to_string(tasks_in_all(common));
  v["MUSTER_TASKS_ON_NODE"] = std::to_string(launch.member().tasks);
  v["MUSTER_CPUS_ON_NODE"] = std::to_string(launch.node.cpus);
  v["MUSTER_MEMORY_MIB_ON_NODE"] = std::to_string(launch.node.memory_mib);
  v["MUSTER_GPUS_ON_NODE"] = std::to_string(launch.node.devices.size());
  std::vector<std::string> ports;
  for (const std::uint16_t port : launch.go.ports) ports.push_back(std::to_string(port));
  if (!launch.go.master_address.empty()) v["MUSTER_MASTER_ADDR"] = launch.go.master_address;
  if (!ports.empty()) v["MUSTER_MASTER_PORT"] = ports.front();
  if (!ports.empty()) v["MUSTER_PORTS"] = joined(ports);
}

void add_devices(Variables& v, const Launch& launch, std::uint32_t local_rank) {
  std::vector<std::string> names;
  std::vector<std::string> uuids;
  for (const OrderDevice& device : launch.node.devices) {
    uuids.push_back(device.uuid);
    names.push_back(launch.filtered ? std::to_string(names.size()) : device.uuid);
  }
  const bool single = launch.common.launch.gpu_bind == GpuBind::kSingle && !names.empty() &&
                      launch.common.launch.mode == LaunchMode::kTasks;
  v["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  v["CUDA_VISIBLE_DEVICES"] = single ? names[local_rank % names.size()] : joined(names);
  v["MUSTER_GPU_UUIDS"] = joined(uuids);
}

void add_pin(Variables& v, const Launch& launch, std::uint32_t local_rank) {
  if (local_rank >= launch.pins.size()) return;
  const RankPin& pin = launch.pins[local_rank];
  v["MUSTER_CPU_LIST"] = to_cpu_list(pin.cpus);
  if (!pin.hca.empty()) v["MUSTER_HCA"] = pin.hca;
}

void add_rank(Variables& v, const Launch& launch, std::uint32_t local_rank) {
  const OrderMember& member = launch.member();
  const std::string node_rank = std::to_string(launch.node.member);
  v["RANK"] = std::to_string(member.rank_first + local_rank);
  v["LOCAL_RANK"] = std::to_string(local_rank);
  v["WORLD_SIZE"] = std::to_string(tasks_in_all(launch.common));
  v["LOCAL_WORLD_SIZE"] = std::to_string(member.tasks);
  v["GROUP_RANK"] = node_rank;
  v["NODE_RANK"] = node_rank;
  v["MASTER_ADDR"] = launch.go.master_address;
  if (!launch.go.ports.empty()) v["MASTER_PORT"] = std::to_string(launch.go.ports.front());
}

// Ours win over the user's; defaults and the interface settings do not.
std::vector<std::string> environment_of(const Launch& launch, const std::vector<std::string>& users,
                                        std::uint32_t local_rank) {
  const CommonOrder& common = launch.common;
  Variables ours;
  add_job(ours, launch);
  add_place(ours, launch);
  add_devices(ours, launch, local_rank);
  add_pin(ours, launch, local_rank);
  if (common.launch.mode == LaunchMode::kTasks) add_rank(ours, launch, local_rank);
  if (!launch.error_file.empty()) ours["TORCHELASTIC_ERROR_FILE"] = launch.error_file;
  Variables defaults{{"PATH", std::string(kDefaultPath)},
                     {"HOME", common.home},
                     {"USER", common.user},
                     {"LOGNAME", common.user},
                     {"SHELL", common.shell}};
  if (common.launch.mode == LaunchMode::kTasks) {
    defaults["OMP_NUM_THREADS"] = std::to_string(std::max(1U, common.launch.cpus_per_task));
  }
  // NCCL takes a prefix unless '=' asks for the exact name; gloo knows no '='.
  if (!launch.nccl_interface.empty()) {
    defaults["NCCL_SOCKET_IFNAME"] = "=" + launch.nccl_interface;
  }
  if (!launch.gloo_interface.empty()) defaults["GLOO_SOCKET_IFNAME"] = launch.gloo_interface;
  std::vector<std::string> all;
  for (const std::string& entry : users) {
    const std::string name = entry.substr(0, entry.find('='));
    defaults.erase(name);
    if (ours.count(name) == 0) all.push_back(entry);
  }
  for (const auto& entry : ours) all.push_back(entry.first + "=" + entry.second);
  for (const auto& entry : defaults) all.push_back(entry.first + "=" + entry.second);
  return all;
}

std::vector<std::string> words_of(const Launch& launch) {
  const LaunchSpec& spec = launch.common.launch;
  std::vector<std::string> words;
  if (spec.mode == LaunchMode::kTorchrun) {
    const std::size_t gpus = launch.node.devices.size();
    const std::size_t processes = gpus > 0 ? gpus : launch.member().tasks;
    const std::string port =
        launch.go.ports.empty() ? "0" : std::to_string(launch.go.ports.front());
    // With underscores, which every release knows; 1.x has no spelling with dashes.
    words = {"torchrun",
             "--nnodes",
             std::to_string(launch.common.members.size()),
             "--nproc_per_node",
             std::to_string(processes),
             "--rdzv_id",
             std::to_string(launch.common.attempt.job.value) + "." +
                 (launch.common.array.is_array
                      ? std::to_string(launch.common.attempt.element.value) + "."
                      : "") +
                 std::to_string(launch.common.attempt.attempt.value),
             "--rdzv_backend",
             "c10d",
             "--rdzv_endpoint",
             launch.go.master_address + ":" + port,
             "--max_restarts",
             "0"};
  }
  if (!spec.is_command) words.push_back(launch.script_path);
  words.insert(words.end(), spec.argv.begin(), spec.argv.end());
  return words;
}

bool names_any(std::string_view pattern, std::string_view letters) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    if (letters.find(pattern[++i]) != std::string_view::npos) return true;
  }
  return false;
}

// Two nodes never write one file: without %N, %n or %t only the first member writes it.
StreamPlan stream_of(const Launch& launch, const std::string& pattern, std::uint32_t rank) {
  StreamPlan stream;
  if (launch.node.member != 0 && !names_any(pattern, "Nnt")) return stream;
  stream.path = expand_pattern(pattern, launch, rank);
  if (stream.path.front() != '/') stream.path = launch.common.launch.cwd + "/" + stream.path;
  stream.shared = launch.processes() > 1 && !names_any(pattern, "t");
  return stream;
}

}  // namespace

std::string expand_pattern(std::string_view pattern, const Launch& launch, std::uint32_t rank) {
  const CommonOrder& common = launch.common;
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      text += pattern[i];
      continue;
    }
    std::string value;
    switch (pattern[++i]) {
      case 'j':
      case 'A':
        value = std::to_string(common.attempt.job.value);
        break;
      case 'a':
        value = std::to_string(common.attempt.element.value);
        break;
      case 'x':
        value = common.job_name;
        break;
      case 'u':
        value = common.user;
        break;
      case 'N':
        value = launch.node.node;
        break;
      case 'n':
        value = std::to_string(launch.node.member);
        break;
      case 't':
        value = std::to_string(rank);
        break;
      case 'r':
        value = std::to_string(common.attempt.attempt.value);
        break;
      case '%':
        value = "%";
        break;
      default:
        value = std::string("%") + pattern[i];
    }
    for (const char c : value) text += c == '/' ? '_' : c;
  }
  return text;
}

std::vector<std::string> split_environment(std::string_view bytes) {
  std::vector<std::string> entries;
  std::set<std::string_view> seen;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    const std::string_view entry = bytes.substr(0, end);
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + 1);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = entry.substr(0, equals);
    if (!is_of_a_job(name) && seen.insert(name).second) entries.emplace_back(entry);
  }
  return entries;
}

std::vector<TaskPlan> plan_tasks(const Launch& launch,
                                 const std::vector<std::string>& environment) {
  std::vector<TaskPlan> plans;
  const LaunchSpec& spec = launch.common.launch;
  const bool is_array = launch.common.array.is_array;
  const std::string output = !spec.output.empty() ? spec.output
                             : is_array           ? "muster-%A_%a.out"
                                                  : "muster-%j.out";
  for (std::uint32_t i = 0; i < launch.processes(); ++i) {
    TaskPlan plan;
    plan.local_rank = i;
    plan.rank = launch.member().rank_first + i;
    plan.argv = words_of(launch);
    plan.environment = environment_of(launch, environment, i);
    plan.output = stream_of(launch, output, plan.rank);
    plan.errors_to_output = spec.error.empty() || spec.error == output;
    if (!plan.errors_to_output) plan.errors = stream_of(launch, spec.error, plan.rank);
    if (!plan.output.path.empty() && plan.errors.path == plan.output.path) {
      plan.errors_to_output = true;
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::string_view variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' &&
        std::string_view(entry).substr(0, name.size()) == name) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace muster
