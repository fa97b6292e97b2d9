// Files of the state directory: what can be told apart is told (no space), everything else that
// would leave the disk in an unknown state ends the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// An open file and its path. Closes at the end of its life.
class StateFile {
 public:
  StateFile() = default;
  StateFile(StateFile&& other) noexcept;
  StateFile& operator=(StateFile&& other) noexcept;
  ~StateFile();

  // `flags` as of open(2); new files get mode 0600. kNotFound, else kUnavailable, with path and
  // cause.
  static Result<StateFile> open(const std::string& path, int flags);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }  // After a rename.
  Result<std::uint64_t> size() const;

  // False: no space; whatever was written may be written again. Any other failure ends the process.
  [[nodiscard]] bool write_at(std::string_view bytes, std::uint64_t offset) const;
  // As write_at, and writes zeros ahead when that goes beyond `filled`, but not beyond `allocated`:
  // the next writes then change no metadata of the file, so that syncing them is one write to the
  // disk. Large writes are left as they are: they need no help, and zeros would double them.
  [[nodiscard]] bool write_filling(std::string_view bytes, std::uint64_t offset,
                                   std::uint64_t allocated, std::uint64_t& filled) const;
  // Makes [offset, offset + size) writable without further space. False: no space. `is_size_kept`:
  // the file does not grow. Any other failure ends the process.
  [[nodiscard]] bool allocate(std::uint64_t offset, std::uint64_t size, bool is_size_kept) const;
  // fdatasync or fsync. A failure ends the process: it is never tried again.
  void sync_data() const;
  void sync() const;
  void truncate(std::uint64_t size) const;  // A failure only costs space; it is ignored.

  // Up to `size` bytes; fewer only at the end of the file. kUnavailable.
  Result<std::size_t> read_at(char* into, std::size_t size, std::uint64_t offset) const;

 private:
  int fd_ = -1;
  std::string path_;
};

// Makes the directory with mode 0700 when absent, and its name durable.
Result<void> make_directory(const std::string& path);
// Makes created and renamed names durable. A failure ends the process.
void sync_directory(const std::string& path);

// Holds the state directory for this process. kConflict: names the pid that holds it.
Result<StateFile> lock_state(const std::string& directory);

// Ends the process with one line.
[[noreturn]] void end_on_disk_failure(const std::string& what, const std::string& path, int error);

}  // namespace muster
