// The launcher's records: everything relative to descriptors, names made by us from numbers.
#include "worker/launcher/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/order/wire.h"

namespace muster {
namespace {

constexpr std::size_t kForgottenBytes = 24;  // Key and expiry.
constexpr std::size_t kForgottenLinesMax = 100000;

Error failed(const std::string& step) {
  return fail(ErrorCode::kUnavailable, step + ": " + std::strerror(errno));
}

Result<Fd> open_directory(int parent, const std::string& name, unsigned mode) {
  if (::mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST) return failed("mkdir " + name);
  Fd directory(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open() || ::fchmod(directory.number(), mode) != 0)
    return failed("open " + name);
  return directory;
}

Result<std::string> read_at(int directory, const char* name, std::size_t bytes_max) {
  const Fd file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return fail(ErrorCode::kNotFound, name);
  std::string bytes;
  while (file.is_open() && bytes.size() <= bytes_max) {
    char buffer[4096];
    const ssize_t size = ::read(file.number(), buffer, sizeof(buffer));
    if (size == 0) return bytes;
    if (size < 0) break;
    bytes.append(buffer, static_cast<std::size_t>(size));
  }
  return failed(std::string("read ") + name);
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
  Result<Fd> attempts = open_directory(store.root_.number(), "attempts", 0700);
  if (!attempts.ok()) return attempts.error();
  Result<Fd> scripts = open_directory(store.root_.number(), "scripts", 0711);
  if (!scripts.ok()) return scripts.error();
  const std::string run_base = run_dir.empty() ? state_dir : run_dir;
  if (::mkdir(run_base.c_str(), 0711) != 0 && errno != EEXIST) return failed("mkdir " + run_base);
  Result<Fd> run = open_directory(AT_FDCWD, run_base + "/running", 0700);
  if (!run.ok()) return run.error();
  store.run_ = std::move(*run);
  const Result<std::string> boot = read_at(store.root_.number(), "boot", kRecordBytesMax);
  if (boot.ok()) store.last_boot_ = *boot;
  store.attempts_ = std::move(*attempts);
  store.scripts_ = std::move(*scripts);
  char* real = ::realpath((state_dir + "/scripts").c_str(), nullptr);
  if (real == nullptr) return failed("scripts");
  store.scripts_path_ = real;
  ::free(real);
  const Result<std::string> epoch = read_at(store.root_.number(), "epoch", 8);
  if (!epoch.ok() && epoch.error().code != ErrorCode::kNotFound) return epoch.error();
  if (epoch.ok()) {
    wire::Reader reader(*epoch);
    reader.id(store.epoch_);
    if (!reader.is_done()) return fail(ErrorCode::kCorrupt, state_dir + "/epoch is damaged");
  }
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
  if (is_forgotten_dirty_ && ::fdatasync(forgotten_file_.number()) != 0) return failed("sync");
  is_forgotten_dirty_ = false;
  if (::fsync(attempts_.number()) != 0) return failed("sync attempts");
  return {};
}

Result<Fd> Store::open_attempt(const AttemptKey& key) const {
  const std::string name = to_text(key);
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd directory(::openat(attempts_.number(), name.c_str(), flags));
  if (!directory.is_open()) return failed("open attempt " + name);
  return directory;
}

std::vector<AttemptKey> Store::attempts() const {
  std::vector<AttemptKey> keys;
  for (const std::string& name : names_in(attempts_.number())) {
    const Result<AttemptKey> key = parse_attempt_key(name);
    if (key.ok()) keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

Result<ShepherdRecord> Store::read_shepherd(const AttemptKey& key) const {
  const std::string name = to_text(key) + kShepherdSuffix;
  const Result<std::string> bytes = read_at(run_.number(), name.c_str(), kRecordBytesMax);
  if (!bytes.ok()) return bytes.error();
  return decode_file<ShepherdRecord>(*bytes);
}

Result<ExitFile> Store::read_exit(int attempt_directory) {
  const Result<std::string> bytes = read_at(attempt_directory, kExitFile, kRecordBytesMax);
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
  const Result<std::string> bytes = read_at(root_.number(), "forgotten", bytes_max);
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
  is_forgotten_dirty_ = false;
  return {};
}

Result<void> Store::forget(const AttemptKey& key, std::int64_t expiry_s, std::int64_t now_s) {
  if (expiry_s >= now_s) {
    forgotten_[key] = expiry_s;
    is_forgotten_dirty_ = true;
    const std::string line = forgotten_line(key, expiry_s);
    if (::write(forgotten_file_.number(), line.data(), line.size()) !=
        static_cast<ssize_t>(line.size())) {
      return failed("remember what was forgotten");
    }
    if (++forgotten_lines_ > kForgottenLinesMax) {
      const Result<void> rewritten = rewrite_forgotten(now_s);
      if (!rewritten.ok()) return rewritten;
    } else if (::fdatasync(forgotten_file_.number()) != 0) {
      return failed("remember what was forgotten");
    }
  }
  for (const char* suffix : {kShepherdSuffix, kTasksSuffix, kSocketSuffix}) {
    ::unlinkat(run_.number(), (to_text(key) + suffix).c_str(), 0);
  }
  const Result<Fd> directory = open_attempt(key);
  if (!directory.ok()) return directory.error();
  for (const std::string& name : names_in(directory->number())) {
    ::unlinkat(directory->number(), name.c_str(), 0);
  }
  if (::unlinkat(attempts_.number(), to_text(key).c_str(), AT_REMOVEDIR) != 0) {
    return failed("remove attempt " + to_text(key));
  }
  return {};
}

}  // namespace muster
