// System calls on state files, with the rule for each kind of failure.
#include "controller/host/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace muster {
namespace {

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

Error unavailable(const std::string& what, const std::string& path, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
  return fail(code, what + " " + path + ": " + std::generic_category().message(error));
}

off_t as_offset(std::uint64_t offset) { return static_cast<off_t>(offset); }

}  // namespace

void end_on_disk_failure(const std::string& what, const std::string& path, int error) {
  std::fprintf(
      stderr,
      "muster: %s of %s failed: %s; ending, because what is on the disk is unknown now: check the "
      "disk, then restart\n",
      what.c_str(), path.c_str(), std::generic_category().message(error).c_str());
  std::abort();
}

StateFile::StateFile(StateFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

StateFile& StateFile::operator=(StateFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

StateFile::~StateFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<StateFile> StateFile::open(const std::string& path, int flags) {
  StateFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file.fd_ < 0) return unavailable("cannot open", path, errno);
  return file;
}

Result<std::uint64_t> StateFile::size() const {
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0) return unavailable("cannot read the size of", path_, errno);
  return static_cast<std::uint64_t>(facts.st_size);
}

bool StateFile::write_at(std::string_view bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), as_offset(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      if (is_full(errno)) return false;
      end_on_disk_failure("write", path_, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

bool StateFile::write_filling(std::string_view bytes, std::uint64_t offset, std::uint64_t allocated,
                              std::uint64_t& filled) const {
  constexpr std::uint64_t kFillBytes = 512U << 10U;
  constexpr std::size_t kLargeBytes = 128U << 10U;
  const std::uint64_t end = offset + bytes.size();
  const std::uint64_t fill = std::min(end + kFillBytes, allocated);
  if (end <= filled || fill <= end || bytes.size() >= kLargeBytes) {
    if (!write_at(bytes, offset)) return false;
    filled = std::max(filled, end);
    return true;
  }
  std::string padded(bytes);
  padded.resize(fill - offset, '\0');
  if (!write_at(padded, offset)) return false;
  filled = fill;
  return true;
}

bool StateFile::allocate(std::uint64_t offset, std::uint64_t size, bool is_size_kept) const {
  const int mode = is_size_kept ? FALLOC_FL_KEEP_SIZE : 0;
  int outcome = 0;
  do {
    outcome = ::fallocate(fd_, mode, as_offset(offset), as_offset(size));
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0) return true;
  if (is_full(errno)) return false;
  if (errno != EOPNOTSUPP && errno != ENOSYS) end_on_disk_failure("allocation", path_, errno);
  // A file system without fallocate: zeros take the space instead. Only ever beyond what was
  // written.
  const std::string zeros(std::min<std::uint64_t>(size, 1U << 20U), '\0');
  for (std::uint64_t done = 0; done < size; done += zeros.size()) {
    if (!write_at(std::string_view(zeros).substr(0, size - done), offset + done)) return false;
  }
  return true;
}

void StateFile::sync_data() const {
  if (::fdatasync(fd_) != 0) end_on_disk_failure("sync", path_, errno);
}

void StateFile::sync() const {
  if (::fsync(fd_) != 0) end_on_disk_failure("sync", path_, errno);
}

void StateFile::truncate(std::uint64_t size) const {
  if (::ftruncate(fd_, as_offset(size)) != 0) return;
}

Result<std::size_t> StateFile::read_at(char* into, std::size_t size, std::uint64_t offset) const {
  std::size_t count = 0;
  while (count < size) {
    const ssize_t got = ::pread(fd_, into + count, size - count, as_offset(offset + count));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unavailable("cannot read", path_, errno);
    if (got == 0) break;
    count += static_cast<std::size_t>(got);
  }
  return count;
}

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return unavailable("cannot make the directory", path, errno);
  }
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash > 0) sync_directory(path.substr(0, slash));
  return {};
}

void sync_directory(const std::string& path) {
  Result<StateFile> directory = StateFile::open(path, O_RDONLY | O_DIRECTORY);
  if (!directory) end_on_disk_failure("opening", path, errno);
  (*directory).sync();
}

Result<StateFile> lock_state(const std::string& directory) {
  const std::string path = directory + "/lock";
  Result<StateFile> lock = StateFile::open(path, O_RDWR | O_CREAT);
  if (!lock) return lock;
  if (::flock(lock->fd(), LOCK_EX | LOCK_NB) != 0) {
    std::string holder(32, '\0');
    const Result<std::size_t> count = lock->read_at(holder.data(), holder.size(), 0);
    holder.resize(count ? *count : 0);
    holder.erase(std::find(holder.begin(), holder.end(), '\n'), holder.end());
    return fail(ErrorCode::kConflict, "state directory " + directory +
                                          " is in use by the controller with pid " + holder +
                                          "; stop that one first, or use another directory");
  }
  lock->truncate(0);
  // On a full disk the pid cannot be written; the lock holds all the same.
  static_cast<void>(lock->write_at(std::to_string(::getpid()) + "\n", 0));
  return lock;
}

}  // namespace muster
