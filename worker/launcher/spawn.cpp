// posix_spawn of a shepherd with a sealed memory file.
#include "worker/launcher/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace muster {
namespace {

constexpr int kAboveTargets = 128;  // No source descriptor is one that dup2 overwrites.

Error failed(const std::string& step, int number) {
  return fail(ErrorCode::kUnavailable, step + ": " + std::strerror(number));
}

Result<Fd> sealed(const std::string& bytes) {
  Fd file(::memfd_create("muster-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  for (std::size_t at = 0; file.is_open() && at < bytes.size();) {
    const ssize_t wrote = ::write(file.number(), bytes.data() + at, bytes.size() - at);
    if (wrote <= 0) return failed("spec", errno);
    at += static_cast<std::size_t>(wrote);
  }
  const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (!file.is_open() || ::fcntl(file.number(), F_ADD_SEALS, seals) != 0) {
    return failed("spec", errno);
  }
  return file;
}

}  // namespace

Result<Fd> spawn_shepherd(const std::string& program, const ShepherdSpec& spec,
                          const std::vector<int>& directories, const std::vector<HeldPort>& ports) {
  const Result<std::string> bytes = encode_file(spec);
  if (!bytes.ok()) return bytes.error();
  const Result<Fd> file = sealed(*bytes);
  if (!file.ok()) return file.error();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return failed("socketpair", errno);
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  std::vector<int> sources{file->number(), theirs.number()};
  sources.insert(sources.end(), directories.begin(), directories.end());
  MUSTER_ASSERT(kSpecFd + static_cast<int>(sources.size()) == kFirstPortFd);
  for (const HeldPort& port : ports) sources.push_back(port.socket.number());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  std::vector<Fd> copies;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    copies.emplace_back(::fcntl(sources[i], F_DUPFD_CLOEXEC, kAboveTargets));
    ::posix_spawn_file_actions_adddup2(&actions, copies.back().number(),
                                       kSpecFd + static_cast<int>(i));
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t all;
  ::sigfillset(&all);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::string name = "muster-shepherd";
  std::string label = to_text(spec.key);
  char* const argv[] = {name.data(), label.data(), nullptr};
  char* const environment[] = {nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return failed("start " + program, error);
  return ours;
}

}  // namespace muster
