// Facts of processes and of this machine, from /proc and the clocks.
#include <time.h>

#include <charconv>

#include "worker/shepherd/shepherd.h"

namespace muster {
namespace {

constexpr int kStartTimeField = 22;

std::int64_t microseconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

}  // namespace

std::uint64_t process_start_time(pid_t pid) {
  const Result<std::string> text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text.ok()) return 0;
  // The second field is a name in parentheses that may hold anything.
  std::size_t at = text->rfind(')');
  if (at != std::string::npos && text->substr(at, 3) == ") Z") return 0;
  for (int field = 2; at != std::string::npos && field < kStartTimeField; ++field) {
    at = text->find(' ', at + 1);
  }
  std::uint64_t value = 0;
  if (at == std::string::npos) return 0;
  std::from_chars(text->data() + at + 1, text->data() + text->size(), value);
  return value;
}

std::string boot_id() {
  const Result<std::string> text = read_small_file("/proc/sys/kernel/random/boot_id");
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found;
  std::vector<pid_t> open{pid};
  while (!open.empty()) {
    const std::string number = std::to_string(open.back());
    open.pop_back();
    const Result<std::string> text =
        read_small_file("/proc/" + number + "/task/" + number + "/children");
    const char* at = text.ok() ? text->data() : nullptr;
    const char* end = text.ok() ? at + text->size() : nullptr;
    while (at != end) {
      pid_t child = 0;
      const std::from_chars_result parsed = std::from_chars(at, end, child);
      if (parsed.ec != std::errc()) break;
      found.push_back(child);
      open.push_back(child);
      at = parsed.ptr == end ? end : parsed.ptr + 1;
    }
  }
  return found;
}

std::int64_t boottime_us() { return microseconds_of(CLOCK_BOOTTIME); }
std::int64_t walltime_us() { return microseconds_of(CLOCK_REALTIME); }

}  // namespace muster
