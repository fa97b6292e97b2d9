/* What a GPU plugin offers: the GPUs of this machine. A plugin is a shared object that exports
 * muster_gpu_plugin(). All calls come from one thread of a process that does nothing else. */
#ifndef MUSTER_PLUGINS_API_GPU_H
#define MUSTER_PLUGINS_API_GPU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rises when a structure changes in a way that struct_size cannot tell. */
#define MUSTER_GPU_ABI 1U
#define MUSTER_GPU_MAX 256U

enum MusterGpuHealth {
  MUSTER_GPU_READY = 0,
  MUSTER_GPU_BROKEN = 1, /* Present, but not to be used: see health_reason. */
  MUSTER_GPU_GONE = 2    /* Fell off the bus. */
};

/* Text fields end with a NUL and are UTF-8. Fields are only ever added at the end. */
struct MusterGpu {
  uint32_t struct_size; /* Set by the host: how much of this the plugin may write. */
  uint32_t index;       /* In PCI bus order, from 0. */
  uint32_t minor;       /* Of the character device. */
  uint32_t numa_node;
  uint64_t memory_mib;
  uint32_t clique;       /* GPUs that NVLink connects directly or by switches share it. */
  uint32_t health;       /* enum MusterGpuHealth */
  char uuid[96];         /* Unique in the world and for ever. */
  char type[32];         /* "h100", "a100", "l40s", …: lower case letters and digits. */
  char name[96];         /* As the vendor calls it. */
  char device_path[128]; /* Empty: there is no character device. */
  char health_reason[128];
};

struct MusterGpuPlugin {
  uint32_t abi_version; /* MUSTER_GPU_ABI */
  uint32_t
      struct_size; /* sizeof(struct MusterGpuPlugin): lets a newer host read an older plugin. */
  const char* name;

  /* Opens the library or file that config names. Returns 0, or not with a line in error. */
  int (*open)(const char* config, void** state, char* error, uint32_t error_size);

  /* Fills gpus[0…*count-1]; room is how many there are, each already has its struct_size. Returns
   * 0, or not with a line in error. May block for as long as the driver does. */
  int (*list)(void* state, struct MusterGpu* gpus, uint32_t room, uint32_t* count, char* error,
              uint32_t error_size);

  void (*close)(void* state);
};

/* The only symbol a plugin exports. NULL when it cannot serve a host of that ABI version. */
const struct MusterGpuPlugin* muster_gpu_plugin(uint32_t host_abi_version);

#ifdef __cplusplus
}
#endif
#endif
