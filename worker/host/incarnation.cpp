// The worker's incarnation: a number on disk that rises with every start, and not below the wall
// clock, so that it also rises when the folder was lost.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/order/fd.h"
#include "worker/host/machine.h"

namespace muster {
namespace {

constexpr char kFile[] = "/incarnation";
constexpr std::uint64_t kIncarnationMax = 1ULL << 62U;

Error broken(const std::string& path) {
  return fail(ErrorCode::kUnavailable, path + ": " + std::strerror(errno));
}

std::uint64_t read_number(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[32];
  const ssize_t size = file.is_open() ? ::read(file.number(), text, sizeof text) : 0;
  std::uint64_t number = 0;
  if (size > 0) std::from_chars(text, text + size, number);
  return std::min(number, kIncarnationMax);
}

Result<void> write_number(const std::string& folder, std::uint64_t number) {
  const std::string path = folder + kFile;
  const std::string draft = path + ".tmp";
  const std::string text = std::to_string(number) + "\n";
  {
    const Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.is_open()) return broken(draft);
    const ssize_t put = ::write(file.number(), text.data(), text.size());
    if (put != static_cast<ssize_t>(text.size()) || ::fsync(file.number()) != 0)
      return broken(draft);
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) return broken(path);
  const Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.number()) != 0) return broken(folder);
  return {};
}

}  // namespace

Result<void> make_state_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return broken(path);
  return {};
}

Result<std::uint64_t> next_incarnation(const std::string& state_dir) {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto wall_us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  const std::uint64_t next =
      std::max(read_number(state_dir + kFile) + 1,
               static_cast<std::uint64_t>(std::max<std::int64_t>(wall_us, 1)));
  const Result<void> written = write_number(state_dir, next);
  if (!written) return written.error();
  return next;
}

}  // namespace muster
