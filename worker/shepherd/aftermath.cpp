// What is left to do for an attempt without a living shepherd: end it, or read its output again.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "worker/shepherd/shepherd.h"

namespace muster {
namespace {

constexpr timespec kReapPause{0, 2 * 1000 * 1000};

Error failed(const std::string& step) {
  return fail(ErrorCode::kUnavailable, step + ": " + std::strerror(errno));
}

Result<TasksRecord> read_tasks(const AttemptKey& key) {
  const std::string name = to_text(key) + kTasksSuffix;
  const Fd file(::openat(kRunDirFd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text;
  while (file.is_open() && text.size() <= kTasksBytesMax) {
    char buffer[4096];
    const ssize_t size = ::read(file.number(), buffer, sizeof(buffer));
    if (size == 0) return decode_file<TasksRecord>(text);
    if (size < 0) break;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return fail(ErrorCode::kNotFound, "no task of it ran on this node since it started");
}

// The file the attempt wrote, or an error: another file of that name is none of ours.
Result<Fd> open_stream(const StreamRecord& stream, const std::string& private_name) {
  const int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  Fd file(stream.path.empty() ? ::openat(kAttemptDirFd, private_name.c_str(), flags | O_NOFOLLOW)
                              : ::open(stream.path.c_str(), flags));
  if (!file.is_open()) return failed("open " + (stream.path.empty() ? private_name : stream.path));
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_dev != stream.device || facts.st_ino != stream.inode) {
    return fail(ErrorCode::kNotFound, stream.path + " is no longer the file the job wrote");
  }
  return file;
}

Result<Fd> open_wanted(const ShepherdSpec& spec, std::string& path) {
  const Result<TasksRecord> record = read_tasks(spec.key);
  if (!record.ok()) return record.error();
  for (const TaskRecord& task : record->tasks) {
    if (spec.log.rank >= 0 && task.rank != static_cast<std::uint32_t>(spec.log.rank)) continue;
    const bool errors = spec.log.errors && task.errors.inode != 0;
    const StreamRecord& stream = errors ? task.errors : task.output;
    path = stream.path;
    if (!stream.path.empty() && !spec.single_user) {
      const Result<void> became =
          become({record->uid.value, record->gid.value, record->groups}, true);
      if (!became.ok()) return became.error();
    }
    return open_stream(stream, (errors ? "err." : "out.") + std::to_string(task.rank));
  }
  return fail(ErrorCode::kNotFound, "no such rank on this node");
}

// Without control groups: everything below pid 1 of the attempt, which keeps its orphans.
void kill_by_parentage(const AttemptKey& key) {
  const Result<TasksRecord> record = read_tasks(key);
  if (!record.ok() || record->pid1 <= 1) return;
  while (process_start_time(record->pid1) == record->pid1_start_time) {
    const std::vector<pid_t> below = descendants_of(record->pid1);
    for (const pid_t pid : below) signal_process(pid, SIGKILL);
    if (below.empty()) signal_process(record->pid1, SIGKILL);
    ::nanosleep(&kReapPause, nullptr);
  }
}

bool is_there(int directory, const std::string& name) {
  return ::faccessat(directory, name.c_str(), F_OK, 0) == 0;
}

// Its script and torchrun's error file.
void remove_spooled(const AttemptKey& key) {
  const std::string prefix = to_text(key) + "-";
  DIR* names = ::fdopendir(::openat(kScriptsDirFd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names == nullptr) return;
  while (const dirent* entry = ::readdir(names)) {
    if (std::string_view(entry->d_name).substr(0, prefix.size()) == prefix) {
      ::unlinkat(kScriptsDirFd, entry->d_name, 0);
    }
  }
  ::closedir(names);
}

}  // namespace

Result<void> write_exit_file(int attempt_directory, const ExitFile& exit) {
  const Result<std::string> bytes = encode_file(exit);
  if (!bytes.ok()) return bytes.error();
  // The draft may be a preallocated one: write into it rather than truncate first.
  const Fd file(::openat(attempt_directory, kExitDraftFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() ||
      ::write(file.number(), bytes->data(), bytes->size()) != static_cast<ssize_t>(bytes->size()) ||
      ::ftruncate(file.number(), static_cast<off_t>(bytes->size())) != 0 ||
      ::fsync(file.number()) != 0) {
    return failed("write exit record");
  }
  if (::renameat(attempt_directory, kExitDraftFile, attempt_directory, kExitFile) != 0 ||
      ::fsync(attempt_directory) != 0) {
    return failed("keep exit record");
  }
  return {};
}

void reap_attempt(const ShepherdSpec& spec) {
  const AttemptCgroup cgroup =
      AttemptCgroup::locate(spec.cgroup_group, to_text(spec.key), spec.single_user);
  ExitFile exit;
  exit.key = spec.key;
  exit.record.cause = spec.reap_cause;
  exit.record.launched =
      spec.reap_launched || is_there(kRunDirFd, to_text(spec.key) + kTasksSuffix);
  const CgroupCounters counters = cgroup.counters();
  exit.record.cpu_us = counters.cpu_us;
  exit.record.memory_peak_mib = counters.memory_peak_mib;
  exit.record.ended_wall = {walltime_us()};
  while (!cgroup.is_empty()) {
    cgroup.kill_all();
    ::nanosleep(&kReapPause, nullptr);
  }
  if (!cgroup.exists()) kill_by_parentage(spec.key);
  cgroup.remove();
  remove_spooled(spec.key);
  while (!is_there(kAttemptDirFd, kExitFile) && !write_exit_file(kAttemptDirFd, exit).ok()) {
    const timespec second{1, 0};
    ::nanosleep(&second, nullptr);
  }
  ::unlinkat(kRunDirFd, (to_text(spec.key) + kSocketSuffix).c_str(), 0);
}

void open_ended_log(const ShepherdSpec& spec) {
  LocalChannel channel{Fd(kStatusFd)};
  LocalLogOpened answer;
  answer.number = spec.log.number;
  Result<Fd> file = open_wanted(spec, answer.path);
  if (!file.ok()) answer.error = file.error().message;
  const Result<std::string> frame = encode_local(answer);
  if (frame.ok()) (void)channel.send(*frame, file.ok() ? std::move(*file) : Fd()).ok();
}

}  // namespace muster
