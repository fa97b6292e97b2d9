// muster-shepherd: started by muster-launcher with a sealed spec and a few descriptors; takes no
// options.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/order/attempt_files.h"
#include "worker/shepherd/shepherd.h"

namespace {

constexpr int kSealsWanted = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

muster::Result<muster::ShepherdSpec> read_spec() {
  const muster::Fd file(muster::kSpecFd);
  if ((::fcntl(file.number(), F_GET_SEALS) & kSealsWanted) != kSealsWanted) {
    return muster::fail(muster::ErrorCode::kInvalid, "started by muster-launcher only");
  }
  std::string bytes;
  char buffer[65536];
  for (off_t at = 0; bytes.size() <= muster::kSpecBytesMax;) {
    const ssize_t size = ::pread(file.number(), buffer, sizeof(buffer), at);
    if (size <= 0) return muster::decode_file<muster::ShepherdSpec>(bytes);
    bytes.append(buffer, static_cast<std::size_t>(size));
    at += size;
  }
  return muster::fail(muster::ErrorCode::kLimit, "spec too long");
}

void harden() {
  ::setsid();
  ::umask(077);
  ::prctl(PR_SET_DUMPABLE, 0);
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &core);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  for (int number = muster::kStatusFd; ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0; ++number) {
  }
}

}  // namespace

int main() {
  harden();
  muster::Result<muster::ShepherdSpec> spec = read_spec();
  if (!spec.ok()) {
    std::fprintf(stderr, "muster-shepherd: %s\n", spec.error().message.c_str());
    return 1;
  }
  switch (spec->mode) {
    case muster::ShepherdMode::kRun:
      muster::Shepherd(std::move(*spec)).run();
      break;
    case muster::ShepherdMode::kReap:
      muster::reap_attempt(*spec);
      break;
    case muster::ShepherdMode::kOpenLog:
      muster::open_ended_log(*spec);
      break;
  }
  return 0;
}
