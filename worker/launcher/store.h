// What the launcher keeps on disk under its state directory:
// - attempts/JOB.ELEMENT.ATTEMPT/: made and synced before anything of the attempt runs, the record
//   that it was ordered;
// - running/ (in the run directory): claims, task records and sockets of running attempts;
// - scripts/: spooled scripts of running attempts;
// - kept/JOB.ELEMENT.ATTEMPT/: output of forgotten attempts that no file of the user's has;
// - boot: the boot these records were made in;
// - epoch: the highest epoch seen; orders of a lower one are refused;
// - forgotten: attempts whose directory is gone but whose order could still be replayed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/order/attempt_files.h"
#include "base/order/fd.h"
#include "base/types/result.h"

namespace muster {

// Kept output: the oldest goes first when one of these is passed.
constexpr std::int64_t kKeptSeconds = 24 * 3600;
constexpr std::uint64_t kKeptBytesMax = 256U << 20U;
constexpr std::size_t kKeptAttemptsMax = 10000;

// Not thread-safe.
class Store {
 public:
  // Makes what is missing. kConflict when another launcher uses the directory.
  static Result<Store> open(const std::string& state_dir, const std::string& run_dir);

  // Makes the attempt's directory, exclusively: kConflict when it is there. Durable only after
  // sync().
  Result<Fd> create(const AttemptKey& key);
  Result<void> sync();  // One for any number of create() calls.

  Result<Fd> open_attempt(const AttemptKey& key) const;
  std::vector<AttemptKey> attempts() const;
  // kNotFound when the file is not there, kCorrupt when it is not what we write.
  Result<ShepherdRecord> read_shepherd(const AttemptKey& key) const;
  static Result<ExitFile> read_exit(int attempt_directory);
  // Whether a shepherd or reaper of it may have left groups and files: its socket goes last.
  bool is_uncleaned(const AttemptKey& key) const;
  // Takes the claim a shepherd would take; false when one has it.
  bool claim(const AttemptKey& key) const;

  Epoch epoch() const { return epoch_; }
  Result<void> raise_epoch(Epoch epoch);  // Durable on return.

  // Removes the attempts' directories but for kept output; their orders are still refused until
  // their expiry (wall seconds) has passed. An error means that this is not on disk.
  Result<void> forget(const std::map<AttemptKey, std::int64_t>& expiries, std::int64_t now_s);
  // Of an attempt that has ended, forgotten or not. rank below 0: the lowest. Closed when there is
  // none (any more).
  Fd open_kept(const AttemptKey& key, std::int32_t rank, bool errors) const;
  bool is_forgotten(const AttemptKey& key) const { return forgotten_.count(key) != 0; }

  const std::string& last_boot() const { return last_boot_; }
  Result<void> note_boot(const std::string& boot_id);

  int run_directory() const { return run_.number(); }
  int scripts_directory() const { return scripts_.number(); }
  const std::string& scripts_path() const { return scripts_path_; }

 private:
  Store() = default;
  void load_forgotten(std::int64_t now_s);
  void remove_attempt(const AttemptKey& key);
  void note_kept(const AttemptKey& key);
  void trim_kept(std::int64_t now_s);
  Result<void> rewrite_forgotten(std::int64_t now_s);

  Fd root_;
  Fd lock_;
  Fd attempts_;
  Fd scripts_;
  Fd run_;
  Fd kept_;
  Fd forgotten_file_;
  std::string scripts_path_;
  std::string last_boot_;
  Epoch epoch_;
  std::map<AttemptKey, std::int64_t> forgotten_;  // To expiry.
  std::size_t forgotten_lines_ = 0;
  std::map<std::pair<std::int64_t, AttemptKey>, std::uint64_t> kept_sizes_;  // Oldest first.
  std::uint64_t kept_bytes_ = 0;
};

std::int64_t wall_seconds();

}  // namespace muster
