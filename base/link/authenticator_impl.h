// What a ServerSocket needs of the Authenticator it stands behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/link/link.h"

namespace muster {

struct Authenticator::Impl {
  void* context = nullptr;
  const AccessList* access = nullptr;
  void* socket = nullptr;
  int stop_fd = -1;
  std::atomic<std::uint64_t> refused{0};
  std::thread thread;
};

}  // namespace muster
