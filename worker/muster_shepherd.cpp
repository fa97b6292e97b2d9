// muster-shepherd: started by muster-launcher, takes no options. The first one only waits at a
// socket and forks a shepherd for each set of descriptors that arrives there. Started with such a
// set in place of the socket it is that shepherd itself.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/order/attempt_files.h"
#include "base/order/descriptors.h"
#include "base/order/small_file.h"
#include "worker/shepherd/shepherd.h"

namespace {

constexpr int kSealsWanted = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kSignalsMax = 64;
// No source is one that dup2 overwrites.
constexpr int kAboveTargets = muster::kSpecFd + static_cast<int>(muster::kDescriptorsAtOnce);
static_assert(muster::kPortsMax + muster::kFirstPortFd < muster::kDescriptorsAtOnce);

muster::Result<muster::ShepherdSpec> read_spec() {
  const muster::Fd file(muster::kSpecFd);
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals < 0 || (seals & kSealsWanted) != kSealsWanted) {
    return muster::fail(muster::ErrorCode::kInvalid, "started by muster-launcher only");
  }
  const muster::Result<std::string> bytes = muster::read_file(file.number(), muster::kSpecBytesMax);
  if (!bytes.ok()) return bytes.error();
  return muster::decode_file<muster::ShepherdSpec>(*bytes);
}

void harden() {
  ::umask(077);
  ::prctl(PR_SET_DUMPABLE, 0);
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &core);
  for (int number = 1; number <= kSignalsMax; ++number) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
}

// What ps shows.
void relabel(char* label, const std::string& text) {
  if (label == nullptr) return;
  const std::size_t room = std::strlen(label);
  std::memset(label, ' ', room);
  std::memcpy(label, text.data(), std::min(room, text.size()));
}

int be_shepherd(char* label) {
  ::setsid();
  ::signal(SIGCHLD, SIG_DFL);
  for (int number = muster::kStatusFd; ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0; ++number) {
  }
  muster::Result<muster::ShepherdSpec> spec = read_spec();
  if (!spec.ok()) {
    std::fprintf(stderr, "muster-shepherd: %s\n", spec.error().message.c_str());
    return 1;
  }
  relabel(label, to_text(spec->key));
  switch (spec->mode) {
    case muster::ShepherdMode::kRun:
      muster::Shepherd(std::move(*spec)).run();
      break;
    case muster::ShepherdMode::kReap:
      muster::reap_attempt(*spec);
      break;
    case muster::ShepherdMode::kSweep:
      muster::sweep_groups(*spec);
      break;
  }
  return 0;
}

// A fork that fails closes the set: the launcher sees its end of the connection close.
int serve(char* label) {
  ::signal(SIGCHLD, SIG_IGN);                          // The kernel reaps them.
  (void)muster::AttemptCgroup::locate({}, {}, false);  // What it finds out they need not.
  for (;;) {
    char byte = 0;
    const muster::ReceivedMessage set = muster::receive_message(muster::kSpecFd, &byte, 1, 0);
    if (set.size <= 0) return 0;  // The launcher is gone.
    if (::fork() != 0) continue;
    std::vector<int> moved;
    for (const muster::Fd& fd : set.descriptors) {
      moved.push_back(::fcntl(fd.number(), F_DUPFD, kAboveTargets));
    }
    int target = muster::kSpecFd;
    for (const int number : moved) {
      if (::dup2(number, target++) < 0) ::_exit(1);
    }
    ::close_range(static_cast<unsigned>(target), ~0U, 0);
    ::_exit(be_shepherd(label));
  }
}

}  // namespace

int main(int argc, char** argv) {
  harden();
  char* label = argc > 1 ? argv[1] : nullptr;
  struct stat facts {};
  const bool is_server = ::fstat(muster::kSpecFd, &facts) == 0 && S_ISSOCK(facts.st_mode);
  return is_server ? serve(label) : be_shepherd(label);
}
