// Start, signals and end of a daemon.
#include "base/daemon/daemon.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "base/daemon/log.h"
#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

// The name for fatal(); set once by begin_process().
std::string& program_name() {
  static std::string* const name = new std::string("muster");
  return *name;
}

Result<void> raise_files(const ProcessOptions& options) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return fail(ErrorCode::kUnavailable, "getrlimit: " + errno_text());
  }
  rlimit wanted = limit;
  wanted.rlim_cur = std::max<rlim_t>(limit.rlim_cur, options.files_min);
  wanted.rlim_max = std::max(limit.rlim_max, wanted.rlim_cur);
  if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) {  // Not allowed above the hard limit.
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < options.files_needed) {
    return fail(ErrorCode::kLimit,
                "needs " + std::to_string(options.files_needed) + " open files, the limit is " +
                    std::to_string(limit.rlim_cur) + "; raise it with ulimit -n or LimitNOFILE=");
  }
  if (limit.rlim_cur < options.files_min) {
    log_warn("open files are limited to {}; {} are better for many connections", limit.rlim_cur,
             options.files_min);
  }
  return {};
}

sigset_t stop_and_reload() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

Result<std::string> read_pid(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  if (size <= 0) return fail(ErrorCode::kNotFound, "empty");
  std::string_view digits(text.data(), static_cast<std::size_t>(size));
  while (!digits.empty() && digits.back() == '\n') digits.remove_suffix(1);
  if (!parse_count(digits, 1, INT32_MAX)) return fail(ErrorCode::kInvalid, "not a pid");
  return std::string(digits);
}

}  // namespace

void fatal(int code, std::string_view line) {
  log_line(LogLevel::kError, line);
  notify_status("failed: " + std::string(line.substr(0, 512)));
  const std::string text = program_name() + ": " + escape_for_terminal(line) + "\n";
  // With the log on stderr the line is there already.
  if (is_log_in_file()) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  }
  _exit(code);
}

Result<void> begin_process(const ProcessOptions& options) {
  program_name() = options.name;
  prctl(PR_SET_NAME, options.name.substr(0, 15).c_str());
  std::signal(SIGPIPE, SIG_IGN);
  umask(077);
  const char* const wants_core = std::getenv("MUSTER_CORE");
  if (wants_core == nullptr || std::string_view(wants_core) != "1") {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0) {
      return fail(ErrorCode::kUnavailable, "cannot switch core files off: " + errno_text());
    }
  }
  return raise_files(options);
}

SignalSource::SignalSource() : fd_(-1) {
  const sigset_t set = stop_and_reload();
  MUSTER_ASSERT(sigprocmask(SIG_BLOCK, &set, nullptr) == 0);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  MUSTER_ASSERT(fd_ >= 0);
}

SignalSource::~SignalSource() { close(fd_); }

std::optional<DaemonSignal> SignalSource::next() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  if (info.ssi_signo == SIGHUP) return DaemonSignal::kReload;
  if (++stops_ > 1) fatal(kExitTempFail, "stopped at once by a second signal");
  return DaemonSignal::kStop;
}

Result<PidFile> PidFile::take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return fail(ErrorCode::kUnavailable, "pid file " + path + ": " + errno_text());
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const auto pid = read_pid(fd);
    close(fd);
    return fail(ErrorCode::kConflict,
                "pid file " + path + ": held by " + (pid ? "process " + *pid : "another process"));
  }
  const std::string text = std::to_string(getpid()) + "\n";
  if (fchmod(fd, 0644) != 0 || ftruncate(fd, 0) != 0 ||
      pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const Error error = fail(ErrorCode::kUnavailable, "pid file " + path + ": " + errno_text());
    close(fd);
    return error;
  }
  return PidFile(path, fd);
}

PidFile::PidFile(PidFile&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_) {
  other.fd_ = -1;
}

PidFile::~PidFile() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace muster
