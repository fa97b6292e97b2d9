// Symbols of libnvidia-ml.
#include "plugins/gpu_nvml/nvml_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace nvml {
namespace {

template <class Function>
bool find(void* handle, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(handle, symbol));
  return out != nullptr;
}

}  // namespace

bool load(const std::string& config, Library& library, std::string& error) {
  const char* from_environment = std::getenv("MUSTER_LIBNVML");
  std::string path = "libnvidia-ml.so.1";
  if (from_environment != nullptr && *from_environment != '\0') path = from_environment;
  if (!config.empty()) path = config;
  library.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    const char* why = ::dlerror();
    error = why == nullptr ? path + " cannot be loaded" : why;
    return false;
  }
  void* handle = library.handle;
  const bool has_all = find(handle, "nvmlInit_v2", library.init) &&
                       find(handle, "nvmlShutdown", library.shutdown) &&
                       find(handle, "nvmlErrorString", library.error_string) &&
                       find(handle, "nvmlDeviceGetCount_v2", library.count) &&
                       find(handle, "nvmlDeviceGetHandleByIndex_v2", library.handle_by_index) &&
                       find(handle, "nvmlDeviceGetUUID", library.uuid) &&
                       find(handle, "nvmlDeviceGetName", library.name) &&
                       find(handle, "nvmlDeviceGetMinorNumber", library.minor_number) &&
                       find(handle, "nvmlDeviceGetMemoryInfo", library.memory) &&
                       find(handle, "nvmlDeviceGetPciInfo_v3", library.pci_info);
  if (!has_all) {
    error = path + " lacks functions of the management library; the driver is too old";
    return false;
  }
  find(handle, "nvmlDeviceGetMemoryAffinity", library.memory_affinity);
  find(handle, "nvmlDeviceGetNvLinkState", library.link_state);
  find(handle, "nvmlDeviceGetNvLinkRemotePciInfo_v2", library.link_remote);
  return true;
}

}  // namespace nvml
