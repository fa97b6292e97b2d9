// The child's side of a plugin call: the only place where foreign code runs.
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <set>
#include <string_view>

#include "base/message/codec.h"
#include "plugins/api/gpu.h"
#include "worker/host/gpu_list.h"
#include "worker/host/plugin_host.h"

namespace muster {
namespace {

using PluginEntry = const MusterGpuPlugin* (*)(std::uint32_t);

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  const std::string_view all(field, N);
  return std::string(all.substr(0, all.find('\0')));
}

GpuFacts facts_of(const MusterGpu& gpu) {
  GpuFacts facts;
  facts.uuid = text_of(gpu.uuid);
  facts.index = gpu.index;
  facts.minor = gpu.minor;
  facts.type = text_of(gpu.type);
  facts.memory_mib = gpu.memory_mib;
  facts.numa_node = gpu.numa_node;
  facts.clique = gpu.clique;
  facts.device_path = text_of(gpu.device_path);
  if (gpu.health == MUSTER_GPU_BROKEN) facts.state = DeviceState::kQuarantined;
  if (gpu.health == MUSTER_GPU_GONE) facts.state = DeviceState::kGone;
  facts.state_reason = text_of(gpu.health_reason);
  return facts;
}

const MusterGpuPlugin* load(const std::string& path, std::string& error) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    error = why == nullptr ? "cannot be loaded" : why;
    return nullptr;
  }
  const auto entry = reinterpret_cast<PluginEntry>(::dlsym(library, "muster_gpu_plugin"));
  const MusterGpuPlugin* plugin = entry == nullptr ? nullptr : entry(MUSTER_GPU_ABI);
  if (plugin == nullptr || plugin->abi_version != MUSTER_GPU_ABI ||
      plugin->struct_size < sizeof(MusterGpuPlugin)) {
    error = "is no gpu plugin of version " + std::to_string(MUSTER_GPU_ABI);
    return nullptr;
  }
  return plugin;
}

GpuList list_of(const std::string& path, const std::string& config) {
  GpuList answer;
  const MusterGpuPlugin* plugin = load(path, answer.error);
  if (plugin == nullptr) return answer;
  char error[512] = {};
  void* state = nullptr;
  if (plugin->open(config.c_str(), &state, error, sizeof error) != 0) {
    answer.error = "open: " + text_of(error);
    return answer;
  }
  std::vector<MusterGpu> gpus(MUSTER_GPU_MAX, MusterGpu{});
  for (MusterGpu& gpu : gpus) gpu.struct_size = sizeof gpu;
  std::uint32_t count = 0;
  if (plugin->list(state, gpus.data(), MUSTER_GPU_MAX, &count, error, sizeof error) != 0) {
    answer.error = "list: " + text_of(error);
  }
  for (std::uint32_t i = 0; i < count && i < MUSTER_GPU_MAX; ++i)
    answer.gpus.push_back(facts_of(gpus[i]));
  plugin->close(state);
  return answer;
}

}  // namespace

Result<void> check_gpus(const std::vector<GpuFacts>& gpus) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz0123456789";
  const auto bad = [](const GpuFacts& gpu, const char* what) {
    return fail(ErrorCode::kInvalid, "gpu " + std::to_string(gpu.index) + " " + what);
  };
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const GpuFacts& gpu = gpus[i];
    if (gpu.index != i) return bad(gpu, "is out of order");
    if (gpu.uuid.empty() || !uuids.insert(gpu.uuid).second)
      return bad(gpu, "has no uuid of its own");
    if (gpu.type.empty() || gpu.type.find_first_not_of(kPlain) != std::string::npos)
      return bad(gpu, "has no type");
    if (gpu.memory_mib == 0) return bad(gpu, "has no memory");
  }
  return {};
}

int serve_plugin_call(const std::string& plugin, const std::string& config, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int answer = ::dup(out);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // What libraries print is not part of the answer.
  const std::string bytes = encode(list_of(plugin, config));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(answer, bytes.data() + at, bytes.size() - at);
    if (put <= 0) return 1;
    at += static_cast<std::size_t>(put);
  }
  return 0;
}

}  // namespace muster
