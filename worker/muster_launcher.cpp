// muster-launcher: the root daemon of a node. See --help.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "worker/launcher/launcher.h"

namespace {

// As those of base/daemon, which the root half does not link.
constexpr int kExitUsage = 64;
constexpr int kExitTempFail = 75;
constexpr int kTurnMs = 2000;  // Also how often the service manager hears from us.

volatile sig_atomic_t stop_asked = 0;
volatile sig_atomic_t reload_asked = 0;

void take_signal(int number) { (number == SIGHUP ? reload_asked : stop_asked) = 1; }

// Standard error becomes that file; without a name it stays what it is. False leaves it.
bool open_log(const std::string& path) {
  if (path.empty()) return true;
  const muster::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (file.is_open() && ::dup2(file.number(), STDERR_FILENO) >= 0) return true;
  std::fprintf(stderr, "muster-launcher: %s: %s\n", path.c_str(), std::strerror(errno));
  return false;
}

std::string beside_us(const char* name) {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  const std::string own(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  return own.substr(0, own.rfind('/') + 1) + name;
}

void set_signals() {
  struct sigaction action {};
  action.sa_handler = take_signal;
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_IGN);  // Shepherds are known by their sockets; the kernel reaps them.
}

}  // namespace

int main(int argc, char** argv) {
  muster::Result<muster::LauncherSettings> settings = muster::parse_launcher_settings(argc, argv);
  if (!settings.ok()) {
    const bool is_help = settings.error().code == muster::ErrorCode::kNotFound;
    std::fprintf(is_help ? stdout : stderr, "%s%s\n",
                 is_help ? "" : "muster-launcher: ", settings.error().message.c_str());
    return is_help ? 0 : kExitUsage;
  }
  if (settings->shepherd_path.empty()) settings->shepherd_path = beside_us("muster-shepherd");
  if (!open_log(settings->log_file)) return 1;
  set_signals();
  ::umask(077);
  ::prctl(PR_SET_DUMPABLE, 0);
  auto launcher = muster::Launcher::open(*settings);
  if (!launcher.ok()) {
    std::fprintf(stderr, "muster-launcher: %s\n", launcher.error().message.c_str());
    return launcher.error().code == muster::ErrorCode::kConflict ? kExitTempFail : 1;
  }
  muster::notify_service_manager("READY=1");
  while (stop_asked == 0) {
    const muster::Result<void> turned = (*launcher)->turn(kTurnMs);
    if (!turned.ok()) {
      std::fprintf(stderr, "muster-launcher: %s\n", turned.error().message.c_str());
      return 1;
    }
    if (reload_asked != 0) {
      reload_asked = 0;
      (void)open_log(settings->log_file);
      (*launcher)->reload();
    }
    muster::notify_service_manager("WATCHDOG=1");
  }
  muster::notify_service_manager("STOPPING=1");
  (*launcher)->leave();
  return 0;
}
