// The life of a daemon: limits at start, signals as a descriptor, readiness and watchdog, pid file,
// exit codes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Exit codes of daemons (sysexits where one fits).
constexpr int kExitUsage = 64;
constexpr int kExitData = 65;         // State on disk is damaged.
constexpr int kExitUnavailable = 69;  // An address, a device, a server is not to be had.
constexpr int kExitSoftware = 70;
constexpr int kExitOs = 71;
constexpr int kExitTempFail = 75;  // Try again: another one holds the lock.
constexpr int kExitConfig = 78;    // Configuration or a key file is wrong.

// Logs and prints the line to stderr ("muster-x: line"), tells systemd, and exits with code. No
// destructors run.
[[noreturn]] void fatal(int code, std::string_view line);

// Names the program for log lines and ps; ignores SIGPIPE; umask 077; core files and ptrace off
// (hard limit 0, PR_SET_DUMPABLE 0) unless MUSTER_CORE=1; raises RLIMIT_NOFILE to files_min (capped
// at the hard limit unless root). Fails only when less than files_needed are to be had. Call first,
// before threads.
struct ProcessOptions {
  std::string name;
  std::uint64_t files_min = 131072;
  std::uint64_t files_needed = 1024;
};
Result<void> begin_process(const ProcessOptions& options);

enum class DaemonSignal : std::uint8_t { kStop, kReload };

// Takes SIGTERM, SIGINT (stop) and SIGHUP (reload) out of the process's ordinary delivery into a
// descriptor. Make it before any thread, so that all inherit the mask. After the second stop signal
// the process ends at once.
class SignalSource {
 public:
  SignalSource();
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;
  int fd() const { return fd_; }
  std::optional<DaemonSignal> next();  // Never blocks.

 private:
  int fd_;
  int stops_ = 0;
};

// systemd's notification protocol; does nothing when NOTIFY_SOCKET is not set.
void notify_ready(std::string_view status);
void notify_status(std::string_view status);
void notify_stopping();
void notify_watchdog();
// Half of WATCHDOG_USEC when it is meant for this process: how often to call notify_watchdog().
std::optional<Duration> watchdog_interval();

// A file with our pid, held locked while the object lives; kConflict names the pid that holds it.
class PidFile {
 public:
  static Result<PidFile> take(const std::string& path);
  ~PidFile();
  PidFile(PidFile&& other) noexcept;
  PidFile& operator=(PidFile&&) = delete;

 private:
  PidFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

}  // namespace muster
