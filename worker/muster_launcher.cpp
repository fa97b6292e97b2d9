// muster-launcher: the root daemon of a node. See --help.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "worker/launcher/launcher.h"

namespace {

constexpr int kTurnMs = 2000;  // Also how often the service manager hears from us.

volatile sig_atomic_t stop_asked = 0;

void ask_to_stop(int) { stop_asked = 1; }

std::string beside_us(const char* name) {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  const std::string own(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  return own.substr(0, own.rfind('/') + 1) + name;
}

void set_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
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
    return is_help ? 0 : 2;
  }
  if (settings->shepherd_path.empty()) settings->shepherd_path = beside_us("muster-shepherd");
  set_signals();
  ::umask(077);
  ::prctl(PR_SET_DUMPABLE, 0);
  auto launcher = muster::Launcher::open(*settings);
  if (!launcher.ok()) {
    std::fprintf(stderr, "muster-launcher: %s\n", launcher.error().message.c_str());
    return 1;
  }
  muster::notify_service_manager("READY=1");
  while (stop_asked == 0) {
    const muster::Result<void> turned = (*launcher)->turn(kTurnMs);
    if (!turned.ok()) {
      std::fprintf(stderr, "muster-launcher: %s\n", turned.error().message.c_str());
      return 1;
    }
    muster::notify_service_manager("WATCHDOG=1");
  }
  muster::notify_service_manager("STOPPING=1");
  return 0;
}
