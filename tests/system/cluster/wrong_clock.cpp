// Preloaded into a daemon: its wall clock is wrong by the seconds that stand, as 64 bits, in the
// file that MUSTER_TEST_CLOCK names; writing there steps it while the daemon runs.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

// Mapped before main(); nothing else sets it.
const std::atomic<std::int64_t>* seconds_off = nullptr;

__attribute__((constructor)) void open_clock() {
  const char* path = std::getenv("MUSTER_TEST_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) seconds_off = static_cast<const std::atomic<std::int64_t>*>(mapped);
}

std::int64_t off() { return seconds_off == nullptr ? 0 : seconds_off->load(); }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    at->tv_sec += off();
  }
  return result;
}

int gettimeofday(timeval* at, void*) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *at = {now.tv_sec, now.tv_nsec / 1000};
  return result;
}

time_t time(time_t* at) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != nullptr) *at = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
