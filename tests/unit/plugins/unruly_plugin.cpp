// A plugin that does what its config says: "hang", "crash", "flood", "chatter", "lie", "refuse".
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugins/api/gpu.h"

namespace {

const char* wish = "";

int unruly_open(const char* config, void** state, char* error, std::uint32_t error_size) {
  static char kept[32];
  std::snprintf(kept, sizeof kept, "%s", config);
  wish = kept;
  *state = kept;
  if (std::strcmp(wish, "hang") == 0) ::sleep(1000);
  if (std::strcmp(wish, "crash") == 0) std::abort();
  if (std::strcmp(wish, "refuse") == 0) {
    std::snprintf(error, error_size, "no such luck");
    return 1;
  }
  return 0;
}

int unruly_list(void*, MusterGpu* gpus, std::uint32_t, std::uint32_t* count, char*, std::uint32_t) {
  if (std::strcmp(wish, "chatter") == 0) std::printf("I am a library and I print things\n");
  std::fflush(stdout);
  std::strcpy(gpus[0].uuid, "GPU-1");
  std::strcpy(gpus[0].type, std::strcmp(wish, "lie") == 0 ? "H 100!" : "h100");
  gpus[0].memory_mib = 1;
  *count = std::strcmp(wish, "flood") == 0 ? 0xffffffffU : 1;
  return 0;
}

void unruly_close(void*) {}

constexpr MusterGpuPlugin kPlugin{
    MUSTER_GPU_ABI, sizeof(MusterGpuPlugin), "unruly", unruly_open, unruly_list, unruly_close};

}  // namespace

extern "C" const MusterGpuPlugin* muster_gpu_plugin(std::uint32_t) { return &kPlugin; }
