// The server that forks shepherds, and what it is sent: sealed memory files and descriptors.
#include "worker/launcher/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "base/order/descriptors.h"
#include "base/order/small_file.h"

namespace muster {
namespace {

constexpr timeval kServerPatience{5, 0};  // Of a server that is stopped, say by a debugger.

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

Result<void> Spawner::start_server() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return failed("socketpair", errno);
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  ::setsockopt(ours.number(), SOL_SOCKET, SO_SNDTIMEO, &kServerPatience, sizeof(kServerPatience));
  // dup2 onto itself would leave close-on-exec set.
  const Fd source(::fcntl(theirs.number(), F_DUPFD_CLOEXEC, kSpecFd + 1));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, source.number(), kSpecFd);
  std::string name = "muster-shepherd";
  std::string label = "starts the others                       ";  // They put their key here.
  char* const argv[] = {name.data(), label.data(), nullptr};       // And an empty environment.
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program_.c_str(), &actions, nullptr, argv, argv + 2);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed("start " + program_, error);
  server_ = std::move(ours);
  return {};
}

Result<Fd> Spawner::spawn(const ShepherdSpec& spec, const std::vector<int>& directories,
                          const std::vector<HeldPort>& ports) {
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
  std::vector<int> numbers{file->number(), theirs.number()};
  numbers.insert(numbers.end(), directories.begin(), directories.end());
  MUSTER_ASSERT(kSpecFd + static_cast<int>(numbers.size()) == kFirstPortFd);
  for (const HeldPort& port : ports) numbers.push_back(port.socket.number());
  if (server_.is_open() && send_message(server_.number(), "1", numbers) > 0) return ours;
  const Result<void> started = start_server();
  if (!started.ok()) return started.error();
  if (send_message(server_.number(), "1", numbers) < 0) return failed("ask " + program_, errno);
  return ours;
}

}  // namespace muster
