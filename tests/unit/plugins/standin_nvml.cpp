// Stands in for libnvidia-ml in tests. $STANDIN_NVML says which machine it plays:
//   hgx     8 H100 behind switches, listed by the library against their PCI order
//   bridge  4 A100 in two bridged pairs
//   plain   2 T4 without NVLink
//   lost    hgx whose third GPU fell off the bus
//   broken  the driver does not answer properly
//   hang    the driver does not answer at all
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};

std::string machine() {
  const char* name = std::getenv("STANDIN_NVML");
  return name == nullptr ? "plain" : name;
}
bool is_hgx() { return machine() == "hgx" || machine() == "lost"; }
unsigned gpus() { return is_hgx() ? 8 : machine() == "bridge" ? 4 : 2; }
unsigned number_of(void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::size_t>(device)) - 1;
}
unsigned bus_of(unsigned number) { return is_hgx() ? 0x90 - 0x10 * number : 0x10 * (number + 1); }
void fill(Pci& pci, unsigned bus, unsigned device) {
  pci.domain = 0;
  pci.bus = bus;
  pci.device = device;
  std::snprintf(pci.bus_id, sizeof pci.bus_id, "00000000:%02X:%02X.0", bus, device);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  while (machine() == "hang") ::pause();
  return 0;
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int status) { return status == 999 ? "Unknown Error" : "GPU is lost"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = gpus();
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  if (machine() == "broken") return 999;
  if (machine() == "lost" && number_of(device) == 2) return 15;
  std::snprintf(uuid, size, "GPU-%08x-0000", bus_of(number_of(device)));
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned size) {
  std::snprintf(name, size, "%s",
                is_hgx()                ? "NVIDIA H100 80GB HBM3"
                : machine() == "bridge" ? "NVIDIA A100-PCIE-40GB"
                                        : "Tesla T4");
  return 0;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = 7 - number_of(device);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {81559ULL << 20U, 1, 1};
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  fill(*pci, bus_of(number_of(device)), 0);
  return 0;
}
int nvmlDeviceGetMemoryAffinity(void* device, unsigned, unsigned long* nodes, unsigned) {
  if (!is_hgx()) return 3;
  nodes[0] = bus_of(number_of(device)) >= 0x60 ? 2 : 1;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  *active = link < (is_hgx() ? 18U : machine() == "bridge" ? 12U : 0U) ? 1 : 0;
  return machine() == "plain" ? 3 : 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* remote) {
  if (is_hgx()) {
    fill(*remote, 0xc0 + link % 4, 0);  // One of four switches.
  } else {
    fill(*remote, bus_of(number_of(device) ^ 1U), 0);
  }
  return 0;
}
}
