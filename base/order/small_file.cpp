// Reading to the end, with a limit.
#include "base/order/small_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/order/fd.h"

namespace muster {

Result<std::string> read_file(int file, std::size_t bytes_max) {
  std::string bytes;
  ssize_t size = 1;
  while (size > 0 && bytes.size() <= bytes_max) {
    char buffer[16384];
    size = ::pread(file, buffer, sizeof(buffer), static_cast<off_t>(bytes.size()));
    if (size > 0) bytes.append(buffer, static_cast<std::size_t>(size));
  }
  if (size == 0) return bytes;
  if (size < 0) return fail(ErrorCode::kUnavailable, std::string("read: ") + std::strerror(errno));
  return fail(ErrorCode::kLimit, "longer than " + std::to_string(bytes_max) + " bytes");
}

Result<std::string> read_file(int directory, const std::string& path, std::size_t bytes_max) {
  const Fd file(::openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
    return fail(code, "open " + path + ": " + std::strerror(errno));
  }
  Result<std::string> bytes = read_file(file.number(), bytes_max);
  if (!bytes.ok()) return fail(bytes.error().code, path + ": " + bytes.error().message);
  return bytes;
}

}  // namespace muster
