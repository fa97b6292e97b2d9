// Facts of the machine from /proc, the scheduler and the network interfaces.
#include "worker/host/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/order/fd.h"
#include "base/types/size.h"

namespace muster {
namespace {

constexpr std::uint64_t kReserveMibMin = 512;

std::string file_text(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t kib_of(std::string_view meminfo, std::string_view label) {
  const std::size_t found = meminfo.find(label);
  std::uint64_t kib = 0;
  if (found == std::string_view::npos) return 0;
  const std::string_view rest = meminfo.substr(found + label.size());
  const std::size_t digits = std::min(rest.find_first_not_of(' '), rest.size());
  std::from_chars(rest.data() + digits, rest.data() + rest.size(), kib);
  return kib;
}

// More than CPU_SETSIZE cpus need a larger set than the default one.
std::uint32_t cpus_usable() {
  for (std::size_t room = 1024; room <= (1U << 20U); room *= 2) {
    cpu_set_t* set = CPU_ALLOC(room);
    const std::size_t size = CPU_ALLOC_SIZE(room);
    const int failed = ::sched_getaffinity(0, size, set);
    const int count = failed == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (failed == 0) return static_cast<std::uint32_t>(count);
    if (errno != EINVAL) break;
  }
  return 1;
}

Result<std::string> address_text(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  const int failed = ::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  if (failed != 0) return fail(ErrorCode::kUnavailable, ::gai_strerror(failed));
  return std::string(host);
}

Result<void> take_cpus(const WorkerConfig& config, Inventory& inventory) {
  const std::uint32_t usable = cpus_usable();
  if (config.cpus > 0) {
    inventory.cpus = config.cpus;
    return {};
  }
  if (config.cpus_reserved >= usable) {
    return fail(ErrorCode::kInvalid,
                "cpus_reserved leaves none of " + std::to_string(usable) + " cpus");
  }
  inventory.cpus = usable - config.cpus_reserved;
  return {};
}

Result<void> take_memory(const WorkerConfig& config, Inventory& inventory) {
  if (config.memory_mib > 0) {
    inventory.memory_mib = config.memory_mib;
    return {};
  }
  const Result<std::uint64_t> total = memory_total_mib(file_text("/proc/meminfo"));
  if (!total) return total.error();
  const std::uint64_t reserve = config.memory_reserved_mib > 0
                                    ? config.memory_reserved_mib
                                    : std::max(kReserveMibMin, *total / 20);
  if (reserve >= *total)
    return fail(ErrorCode::kInvalid, "memory_reserved leaves nothing of " + memory_to_text(*total));
  inventory.memory_mib = *total - reserve;
  return {};
}

Result<std::string> take_address(const WorkerConfig& config) {
  if (!config.address.empty()) return config.address;
  if (!config.interface.empty()) return interface_address(config.interface);
  return address_towards(config.controller);
}

}  // namespace

Result<Inventory> read_machine(const WorkerConfig& config, const std::string& release) {
  Inventory inventory;
  Result<void> taken = take_cpus(config, inventory);
  if (!taken) return taken.error();
  taken = take_memory(config, inventory);
  if (!taken) return taken.error();
  Result<std::string> address = take_address(config);
  if (!address) return address.error();
  inventory.address = *std::move(address);
  inventory.features = config.features;
  std::sort(inventory.features.begin(), inventory.features.end());
  inventory.switch_name = config.switch_name;
  inventory.release = release;
  utsname kernel{};
  if (::uname(&kernel) == 0) inventory.kernel = kernel.release;
  return inventory;
}

void give_whole_cores(const WorkerConfig& config, const CpuMachine& machine, Inventory& inventory) {
  const std::uint32_t per_core = machine.cpus_per_core();
  if (config.cpus == 0) inventory.cpus = std::max(per_core, inventory.cpus / per_core * per_core);
  if (inventory.cpus % per_core == 0) inventory.cpus_per_core = per_core;
}

Result<std::uint64_t> memory_total_mib(std::string_view meminfo) {
  const std::uint64_t total = kib_of(meminfo, "MemTotal:");
  const std::uint64_t huge = kib_of(meminfo, "Hugetlb:");
  const std::uint64_t kib = total > huge ? total - huge : 0;
  if (kib < 1024) return fail(ErrorCode::kUnavailable, "/proc/meminfo does not tell the memory");
  return kib / 1024;
}

Result<std::string> interface_address(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail(ErrorCode::kUnavailable, std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family ||
          interface != one->ifa_name)
        continue;
      return address_text(one->ifa_addr,
                          family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    }
  }
  return fail(ErrorCode::kUnavailable,
              "interface " + interface + " does not exist or has no address");
}

Result<std::string> address_towards(const std::string& endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  const std::size_t colon = endpoint.rfind(':');
  if (endpoint.rfind(kScheme, 0) != 0 || colon == std::string::npos || colon <= kScheme.size()) {
    return fail(ErrorCode::kInvalid,
                "endpoint \"" + endpoint + "\" is not of the form tcp://host:port");
  }
  std::string host = endpoint.substr(kScheme.size(), colon - kScheme.size());
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), endpoint.c_str() + colon + 1, &hints, &found);
  if (failed != 0) return fail(ErrorCode::kUnavailable, host + ": " + ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  // Nothing is sent: connect on a datagram socket only chooses the route.
  const Fd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (!socket.is_open() || ::connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return fail(ErrorCode::kUnavailable, "no route to " + host + ": " + std::strerror(errno));
  }
  return address_text(reinterpret_cast<const sockaddr*>(&own), size);
}

std::string boot_id() {
  std::string text = file_text("/proc/sys/kernel/random/boot_id");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace muster
