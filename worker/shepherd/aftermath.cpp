// What is left to do for an attempt without a living shepherd: end it.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <cstring>

#include "worker/shepherd/shepherd.h"

namespace muster {
namespace {

constexpr timespec kReapPause{0, 2 * 1000 * 1000};
constexpr int kSweepsMax = 500;

// Without control groups: everything below pid 1 of the attempt, which keeps its orphans.
void kill_by_parentage(const AttemptKey& key) {
  const Result<std::string> bytes = read_small_file("/proc/self/fd/" + std::to_string(kRunDirFd) +
                                                    "/" + to_text(key) + kTasksSuffix);
  if (!bytes.ok()) return;
  const Result<TasksRecord> record = decode_file<TasksRecord>(*bytes);
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
  for (const std::string& name : names_in(kScriptsDirFd)) {
    if (name.compare(0, prefix.size(), prefix) == 0 &&
        ::unlinkat(kScriptsDirFd, name.c_str(), 0) != 0) {
      remove_error_file(name);
    }
  }
}

}  // namespace

void remove_error_file(const std::string& directory) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const Fd opened(::openat(kScriptsDirFd, directory.c_str(), flags));
  if (opened.is_open()) ::unlinkat(opened.number(), kErrorFile, 0);
  ::unlinkat(kScriptsDirFd, directory.c_str(), AT_REMOVEDIR);
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
  while (!is_there(kAttemptDirFd, kExitFile)) {
    const Result<void> written = write_exit_file(kAttemptDirFd, exit);
    if (written.ok() || written.error().code == ErrorCode::kNotFound) break;
    const timespec second{1, 0};
    ::nanosleep(&second, nullptr);
  }
  ::unlinkat(kRunDirFd, (to_text(spec.key) + kSocketSuffix).c_str(), 0);
}

void sweep_groups(const ShepherdSpec& spec) {
  const AttemptCgroup cgroup =
      AttemptCgroup::locate(spec.cgroup_group, to_text(spec.key), spec.single_user);
  // The last shepherd may still be leaving.
  for (int tried = 0; tried < kSweepsMax && !cgroup.remove_shared(); ++tried) {
    ::nanosleep(&kReapPause, nullptr);
  }
}

}  // namespace muster
