// NVIDIA GPUs of this machine. config: empty, or the path of the management library.
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/api/gpu.h"
#include "plugins/gpu_nvml/gpu_type.h"
#include "plugins/gpu_nvml/nvml_library.h"

namespace {

constexpr unsigned kNumaScope = 0;  // Of memory affinity: the node, not the socket.
constexpr unsigned kNumaWords = 16;

struct Found {
  nvml::Handle handle = nullptr;
  nvml::PciInfo pci{};
  MusterGpu gpu{};
};

int report(char* error, std::uint32_t error_size, const std::string& text) {
  if (error_size > 0) std::snprintf(error, error_size, "%s", text.c_str());
  return 1;
}

template <std::size_t N>
void put(char (&field)[N], const std::string& text) {
  std::snprintf(field, N, "%.*s", static_cast<int>(N - 1), text.c_str());
}

std::string pci_name(const nvml::PciInfo& pci) {
  char name[32];
  std::snprintf(name, sizeof name, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
  return name;
}

// Of the CPU it hangs on. What neither library nor kernel tells is node 0.
std::uint32_t numa_node_of(const nvml::Library& library, const Found& found) {
  unsigned long words[kNumaWords] = {};
  if (library.memory_affinity != nullptr &&
      library.memory_affinity(found.handle, kNumaWords, words, kNumaScope) == nvml::kSuccess) {
    for (std::uint32_t bit = 0; bit < kNumaWords * 64; ++bit) {
      if ((words[bit / 64] >> (bit % 64) & 1U) != 0) return bit;
    }
  }
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + pci_name(found.pci) + "/numa_node") >> node;
  return node < 0 ? 0 : static_cast<std::uint32_t>(node);
}

// The status of the first call that fails, or success with everything but index and clique filled
// in.
nvml::Status describe(const nvml::Library& library, unsigned index, Found& found) {
  nvml::Status status = library.handle_by_index(index, &found.handle);
  char uuid[nvml::kUuidBytes] = {};
  char name[nvml::kNameBytes] = {};
  nvml::Memory memory{};
  if (status == nvml::kSuccess) status = library.uuid(found.handle, uuid, sizeof uuid);
  if (status == nvml::kSuccess) status = library.name(found.handle, name, sizeof name);
  if (status == nvml::kSuccess) status = library.pci_info(found.handle, &found.pci);
  if (status == nvml::kSuccess) status = library.minor_number(found.handle, &found.gpu.minor);
  if (status == nvml::kSuccess) status = library.memory(found.handle, &memory);
  if (status != nvml::kSuccess) return status;
  put(found.gpu.uuid, uuid);
  put(found.gpu.name, name);
  put(found.gpu.type, nvml::gpu_type(name));
  found.gpu.memory_mib = memory.total >> 20U;
  found.gpu.numa_node = numa_node_of(library, found);
  const std::string path = "/dev/nvidia" + std::to_string(found.gpu.minor);
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0 && S_ISCHR(file.st_mode)) put(found.gpu.device_path, path);
  return status;
}

// Whom the GPU's active NVLinks reach: other GPUs or switches, by PCI address.
std::set<std::string> neighbours_of(const nvml::Library& library, const Found& found) {
  std::set<std::string> neighbours;
  if (library.link_state == nullptr || library.link_remote == nullptr) return neighbours;
  for (unsigned link = 0; link < nvml::kLinksMax; ++link) {
    unsigned active = 0;
    nvml::PciInfo remote{};
    if (library.link_state(found.handle, link, &active) != nvml::kSuccess || active == 0) continue;
    if (library.link_remote(found.handle, link, &remote) == nvml::kSuccess)
      neighbours.insert(pci_name(remote));
  }
  return neighbours;
}

// GPUs that reach each other, directly or by something both reach, get one number: that of the
// first of them.
void join_cliques(const nvml::Library& library, std::vector<Found>& all) {
  std::vector<std::set<std::string>> reached;
  for (const Found& one : all) {
    reached.push_back(neighbours_of(library, one));
    if (!reached.back().empty()) reached.back().insert(pci_name(one.pci));
  }
  std::vector<std::uint32_t> clique(all.size());
  std::iota(clique.begin(), clique.end(), 0U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool joined =
          std::any_of(reached[i].begin(), reached[i].end(),
                      [&](const std::string& name) { return reached[j].count(name) != 0; });
      if (joined)
        std::replace(clique.begin(), clique.end(), std::max(clique[i], clique[j]),
                     std::min(clique[i], clique[j]));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].gpu.clique = clique[i];
}

int nvml_open(const char* config, void** state, char* error, std::uint32_t error_size) {
  std::string problem;
  nvml::Library library;
  if (!nvml::load(config, library, problem)) return report(error, error_size, problem);
  const nvml::Status status = library.init();
  if (status != nvml::kSuccess) return report(error, error_size, library.error_string(status));
  *state = new nvml::Library(library);
  return 0;
}

int nvml_list(void* state, MusterGpu* gpus, std::uint32_t room, std::uint32_t* count, char* error,
              std::uint32_t error_size) {
  const nvml::Library& library = *static_cast<const nvml::Library*>(state);
  unsigned devices = 0;
  nvml::Status status = library.count(&devices);
  if (status != nvml::kSuccess) return report(error, error_size, library.error_string(status));
  std::vector<Found> all;
  for (unsigned i = 0; i < devices; ++i) {
    Found found;
    status = describe(library, i, found);
    if (status == nvml::kGpuIsLost)
      continue;  // It cannot even tell who it is: to the host it is missing.
    if (status != nvml::kSuccess) {
      return report(error, error_size,
                    "gpu " + std::to_string(i) + ": " + library.error_string(status));
    }
    all.push_back(found);
  }
  if (all.size() > room) return report(error, error_size, "more gpus than the host has room for");
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::tie(a.pci.domain, a.pci.bus, a.pci.device) <
           std::tie(b.pci.domain, b.pci.bus, b.pci.device);
  });
  join_cliques(library, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t size = gpus[i].struct_size;
    if (size < sizeof(MusterGpu))
      return report(error, error_size, "the host is older than this plugin");
    gpus[i] = all[i].gpu;
    gpus[i].struct_size = size;
    gpus[i].index = static_cast<std::uint32_t>(i);
  }
  *count = static_cast<std::uint32_t>(all.size());
  return 0;
}

void nvml_close(void* state) {
  auto* library = static_cast<nvml::Library*>(state);
  library->shutdown();
  delete library;
}

constexpr MusterGpuPlugin kPlugin{
    MUSTER_GPU_ABI, sizeof(MusterGpuPlugin), "nvml", nvml_open, nvml_list, nvml_close};

}  // namespace

extern "C" __attribute__((visibility("default"))) const MusterGpuPlugin* muster_gpu_plugin(
    std::uint32_t host_abi_version) {
  return host_abi_version == MUSTER_GPU_ABI ? &kPlugin : nullptr;
}
