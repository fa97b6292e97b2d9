// Reading to the end, with a limit.
#include "base/order/small_file.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/order/fd.h"

namespace muster {
namespace {

constexpr std::size_t kSmallFileBytesMax = 1U << 20U;

}  // namespace

Result<std::string> read_file(int file, std::size_t bytes_max) {
  std::string bytes;
  ssize_t size = 1;
  while (size > 0 && bytes.size() <= bytes_max) {
    char buffer[16384];
    size = ::pread(file, buffer, sizeof(buffer), static_cast<off_t>(bytes.size()));
    if (size > 0) bytes.append(buffer, static_cast<std::size_t>(size));
  }
  if (size == 0) return bytes;
  if (size < 0) return failed("read");
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

Result<std::string> read_small_file(const std::string& path) {
  return read_file(-1, path, kSmallFileBytesMax);
}

Result<void> write_small_file(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.is_open() &&
      ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  return failed("write \"" + std::string(text) + "\" to " + path);
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  DIR* stream = ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(stream);
  return names;
}

Error failed(const std::string& step, int number) {
  return fail(ErrorCode::kUnavailable,
              step + ": " + std::strerror(number) + " (errno " + std::to_string(number) + ")");
}

}  // namespace muster
