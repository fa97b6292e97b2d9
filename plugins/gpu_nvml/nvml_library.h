// The few functions of NVIDIA's management library that are used here, found by name at run time.
// Declared from its documented interface, so that building needs no CUDA.
#pragma once

#include <string>

namespace nvml {

struct Device;
using Handle = Device*;
using Status = int;

constexpr Status kSuccess = 0;
constexpr Status kGpuIsLost = 15;
constexpr unsigned kUuidBytes = 96;
constexpr unsigned kNameBytes = 96;
constexpr unsigned kLinksMax = 18;  // NVLinks of one GPU.

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

// Null where the driver is too old to have it; the required ones are never null.
struct Library {
  void* handle = nullptr;
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*handle_by_index)(unsigned, Handle*) = nullptr;
  Status (*uuid)(Handle, char*, unsigned) = nullptr;
  Status (*name)(Handle, char*, unsigned) = nullptr;
  Status (*minor_number)(Handle, unsigned*) = nullptr;
  Status (*memory)(Handle, Memory*) = nullptr;
  Status (*pci_info)(Handle, PciInfo*) = nullptr;
  Status (*memory_affinity)(Handle, unsigned words, unsigned long*,
                            unsigned scope) = nullptr;                      // Optional.
  Status (*link_state)(Handle, unsigned link, unsigned* active) = nullptr;  // Optional.
  Status (*link_remote)(Handle, unsigned link, PciInfo*) = nullptr;         // Optional.
};

// Loads config, else $MUSTER_LIBNVML, else libnvidia-ml.so.1. False with a line in error.
bool load(const std::string& config, Library& library, std::string& error);

}  // namespace nvml
