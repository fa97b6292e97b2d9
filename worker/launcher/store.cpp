// The launcher's records: everything relative to descriptors, names made by us from numbers.
#include "worker/launcher/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/order/small_file.h"
#include "base/order/wire.h"

namespace muster {
namespace {

constexpr std::size_t kForgottenBytes = 24;  // Key and expiry.
constexpr std::size_t kForgottenLinesMax = 100000;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<void> open_directory(Fd& directory, int parent, const std::string& name, unsigned mode) {
  if (::mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST) return failed("mkdir " + name);
  directory = Fd(::openat(parent, name.c_str(), kDirectoryFlags));
  if (directory.is_open() && ::fchmod(directory.number(), mode) == 0) return {};
  return failed("open " + name);
}

std::vector<AttemptKey> keys_in(int directory) {
  std::vector<AttemptKey> keys;
  for (const std::string& name : names_in(directory)) {
    const Result<AttemptKey> key = parse_attempt_key(name);
    if (key.ok()) keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Whole, or not at all, after a crash.
Result<void> replace_at(int directory, const std::string& name, std::string_view bytes) {
  const std::string draft = name + ".tmp";
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(::openat(directory, draft.c_str(), flags, 0600));
  if (!file.is_open() ||
      ::write(file.number(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fsync(file.number()) != 0 ||
      ::renameat(directory, draft.c_str(), directory, name.c_str()) != 0 ||
      ::fsync(directory) != 0) {
    return failed("write " + name);
  }
  return {};
}

void remove_directory(int parent, const std::string& name) {
  const Fd directory(::openat(parent, name.c_str(), kDirectoryFlags));
  for (const std::string& file : names_in(directory.number())) {
    ::unlinkat(directory.number(), file.c_str(), 0);
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// Removes all but output and says how many bytes that is.
std::uint64_t keep_output(int parent, const std::string& name) {
  const Fd directory(::openat(parent, name.c_str(), kDirectoryFlags));
  std::uint64_t bytes = 0;
  for (const std::string& file : names_in(directory.number())) {
    struct stat facts {};
    const bool is_output = file.compare(0, 4, "out.") == 0 || file.compare(0, 4, "err.") == 0;
    if (!is_output) {
      ::unlinkat(directory.number(), file.c_str(), 0);
    } else if (::fstatat(directory.number(), file.c_str(), &facts, 0) == 0) {
      bytes += static_cast<std::uint64_t>(facts.st_size);
    }
  }
  return bytes;
}

std::string forgotten_line(const AttemptKey& key, std::int64_t expiry_s) {
  wire::Writer writer;
  AttemptKey copy = key;
  wire::describe(writer, copy);
  writer.number(expiry_s);
  return writer.take();
}

}  // namespace

std::int64_t wall_seconds() { return ::time(nullptr); }

Result<Store> Store::open(const std::string& state_dir, const std::string& run_dir) {
  Store store;
  if (::mkdir(state_dir.c_str(), 0711) != 0 && errno != EEXIST) return failed("mkdir " + state_dir);
  store.root_ = Fd(::open(state_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Users pass through it to their scripts, and see nothing on the way.
  struct stat facts {};
  if (!store.root_.is_open() || ::fstat(store.root_.number(), &facts) != 0 ||
      ((facts.st_mode & 0111U) != 0111U &&
       ::fchmod(store.root_.number(), (facts.st_mode & 0777U) | 0111U) != 0)) {
    return failed("open " + state_dir);
  }
  store.lock_ = Fd(::openat(store.root_.number(), "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (::flock(store.lock_.number(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kConflict, state_dir + ": another muster-launcher uses it");
  }
  Result<void> made = open_directory(store.attempts_, store.root_.number(), "attempts", 0700);
  if (made.ok()) made = open_directory(store.kept_, store.root_.number(), "kept", 0700);
  if (made.ok()) made = open_directory(store.scripts_, store.root_.number(), "scripts", 0711);
  const std::string run_base = run_dir.empty() ? state_dir : run_dir;
  if (::mkdir(run_base.c_str(), 0711) != 0 && errno != EEXIST) return failed("mkdir " + run_base);
  if (made.ok()) made = open_directory(store.run_, AT_FDCWD, run_base + "/running", 0700);
  if (!made.ok()) return made.error();
  const Result<std::string> boot = read_file(store.root_.number(), "boot", kRecordBytesMax);
  if (boot.ok()) store.last_boot_ = *boot;
  char* real = ::realpath((state_dir + "/scripts").c_str(), nullptr);
  if (real == nullptr) return failed("scripts");
  store.scripts_path_ = real;
  ::free(real);
  const Result<std::string> epoch = read_file(store.root_.number(), "epoch", 8);
  if (!epoch.ok() && epoch.error().code != ErrorCode::kNotFound) return epoch.error();
  if (epoch.ok()) {
    wire::Reader reader(*epoch);
    reader.id(store.epoch_);
    if (!reader.is_done()) return fail(ErrorCode::kCorrupt, state_dir + "/epoch is damaged");
  }
  for (const AttemptKey& key : keys_in(store.kept_.number())) store.note_kept(key);
  store.load_forgotten(wall_seconds());
  const Result<void> rewritten = store.rewrite_forgotten(wall_seconds());
  if (!rewritten.ok()) return rewritten.error();
  return store;
}

Result<Fd> Store::create(const AttemptKey& key) {
  const std::string name = to_text(key);
  if (::mkdirat(attempts_.number(), name.c_str(), 0700) != 0) {
    if (errno == EEXIST) return fail(ErrorCode::kConflict, name + " was ordered before");
    return failed("record attempt " + name);
  }
  return open_attempt(key);
}

Result<void> Store::sync() {
  if (::fsync(attempts_.number()) != 0) return failed("sync attempts");
  return {};
}

Result<Fd> Store::open_attempt(const AttemptKey& key) const {
  const std::string name = to_text(key);
  Fd directory(::openat(attempts_.number(), name.c_str(), kDirectoryFlags));
  if (!directory.is_open()) return failed("open attempt " + name);
  return directory;
}

std::vector<AttemptKey> Store::attempts() const { return keys_in(attempts_.number()); }

Result<ShepherdRecord> Store::read_shepherd(const AttemptKey& key) const {
  const std::string name = to_text(key) + kShepherdSuffix;
  const Result<std::string> bytes = read_file(run_.number(), name, kRecordBytesMax);
  if (!bytes.ok()) return bytes.error();
  return decode_file<ShepherdRecord>(*bytes);
}

Result<ExitFile> Store::read_exit(int attempt_directory) {
  const Result<std::string> bytes = read_file(attempt_directory, kExitFile, kRecordBytesMax);
  if (!bytes.ok()) return bytes.error();
  return decode_file<ExitFile>(*bytes);
}

bool Store::is_uncleaned(const AttemptKey& key) const {
  return ::faccessat(run_.number(), (to_text(key) + kSocketSuffix).c_str(), F_OK, 0) == 0;
}

bool Store::claim(const AttemptKey& key) const {
  const std::string name = to_text(key) + kShepherdSuffix;
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  return Fd(::openat(run_.number(), name.c_str(), flags, 0600)).is_open();
}

Result<void> Store::note_boot(const std::string& boot_id) {
  const Result<void> written = replace_at(root_.number(), "boot", boot_id);
  if (written.ok()) last_boot_ = boot_id;
  return written;
}

Result<void> Store::raise_epoch(Epoch epoch) {
  wire::Writer writer;
  writer.id(epoch);
  const Result<void> written = replace_at(root_.number(), "epoch", writer.take());
  if (written.ok()) epoch_ = epoch;
  return written;
}

// A torn last entry was never acknowledged.
void Store::load_forgotten(std::int64_t now_s) {
  const std::size_t bytes_max = 2 * kForgottenLinesMax * kForgottenBytes;
  const Result<std::string> bytes = read_file(root_.number(), "forgotten", bytes_max);
  for (std::size_t at = 0; bytes.ok() && at + kForgottenBytes <= bytes->size();
       at += kForgottenBytes) {
    wire::Reader reader(std::string_view(*bytes).substr(at, kForgottenBytes));
    AttemptKey key;
    std::int64_t expiry_s = 0;
    wire::describe(reader, key);
    reader.number(expiry_s);
    if (reader.is_done() && expiry_s >= now_s) forgotten_[key] = expiry_s;
  }
}

Result<void> Store::rewrite_forgotten(std::int64_t now_s) {
  std::string bytes;
  std::erase_if(forgotten_, [now_s](const auto& entry) { return entry.second < now_s; });
  for (const auto& entry : forgotten_) bytes += forgotten_line(entry.first, entry.second);
  const Result<void> written = replace_at(root_.number(), "forgotten", bytes);
  if (!written.ok()) return written;
  forgotten_file_ = Fd(::openat(root_.number(), "forgotten", O_WRONLY | O_APPEND | O_CLOEXEC));
  forgotten_lines_ = forgotten_.size();
  return {};
}

Result<void> Store::forget(const std::map<AttemptKey, std::int64_t>& expiries, std::int64_t now_s) {
  std::string lines;
  for (const auto& [key, expiry_s] : expiries) {
    if (expiry_s < now_s) continue;
    forgotten_[key] = expiry_s;
    lines += forgotten_line(key, expiry_s);
    ++forgotten_lines_;
  }
  const auto size = static_cast<ssize_t>(lines.size());
  if (forgotten_lines_ > kForgottenLinesMax) {
    const Result<void> rewritten = rewrite_forgotten(now_s);
    if (!rewritten.ok()) return rewritten;
  } else if (size > 0 && (::write(forgotten_file_.number(), lines.data(), lines.size()) != size ||
                          ::fdatasync(forgotten_file_.number()) != 0)) {
    return failed("remember what was forgotten");
  }
  for (const auto& entry : expiries) remove_attempt(entry.first);
  trim_kept(now_s);
  return {};
}

void Store::remove_attempt(const AttemptKey& key) {
  const std::string name = to_text(key);
  for (const char* suffix : {kShepherdSuffix, kTasksSuffix, kSocketSuffix}) {
    ::unlinkat(run_.number(), (name + suffix).c_str(), 0);
  }
  if (keep_output(attempts_.number(), name) == 0) {
    remove_directory(attempts_.number(), name);
  } else if (::renameat(attempts_.number(), name.c_str(), kept_.number(), name.c_str()) == 0) {
    note_kept(key);
  }
}

// Its age is that of the last change in its directory: when it was forgotten.
void Store::note_kept(const AttemptKey& key) {
  struct stat facts {};
  if (::fstatat(kept_.number(), to_text(key).c_str(), &facts, 0) != 0) return;
  const std::uint64_t bytes = keep_output(kept_.number(), to_text(key));
  kept_sizes_[{facts.st_mtime, key}] = bytes;
  kept_bytes_ += bytes;
}

void Store::trim_kept(std::int64_t now_s) {
  while (!kept_sizes_.empty()) {
    const auto oldest = kept_sizes_.begin();
    const bool is_old = oldest->first.first + kKeptSeconds < now_s;
    const bool is_full = kept_bytes_ > kKeptBytesMax || kept_sizes_.size() > kKeptAttemptsMax;
    if (!is_old && !is_full) return;
    remove_directory(kept_.number(), to_text(oldest->first.second));
    kept_bytes_ -= oldest->second;
    kept_sizes_.erase(oldest);
  }
}

Fd Store::open_kept(const AttemptKey& key, std::int32_t rank, bool errors) const {
  Fd directory(::openat(kept_.number(), to_text(key).c_str(), kDirectoryFlags));
  if (Result<Fd> ended = open_attempt(key); ended.ok()) directory = std::move(*ended);
  std::map<std::int32_t, std::string> files;  // By rank; those of errors hide the others.
  for (const char* prefix : {"out.", "err."}) {
    if (prefix[0] == 'e' && !errors) continue;
    for (const std::string& file : names_in(directory.number())) {
      std::int32_t number = -1;
      if (file.compare(0, 4, prefix) != 0) continue;
      std::from_chars(file.data() + 4, file.data() + file.size(), number);
      files[number] = file;
    }
  }
  const auto found = rank < 0 ? files.begin() : files.find(rank);
  if (found == files.end()) return Fd();
  const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
  return Fd(::openat(directory.number(), found->second.c_str(), flags));
}

}  // namespace muster
