// The parent's side of a plugin call.
#include "worker/host/plugin_host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/message/codec.h"
#include "base/order/fd.h"
#include "worker/host/gpu_list.h"

namespace muster {
namespace {

constexpr std::size_t kAnswerBytesMax = 1U << 20U;

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;
  Fd output;
};

Error unavailable(const PluginCall& call, const std::string& what) {
  return fail(ErrorCode::kUnavailable, "gpu plugin " + call.plugin + ": " + what);
}

Result<Child> spawn(const PluginCall& call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable(call, std::strerror(errno));
  Child child;
  child.output = Fd(ends[0]);
  const Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.number(), STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string arguments[] = {call.program, "plugin-call", call.plugin, call.config};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), nullptr};
  const int failed =
      ::posix_spawn(&child.pid, call.program.c_str(), &actions, &attributes, argv, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return unavailable(call,
                       std::string("cannot start ") + call.program + ": " + std::strerror(failed));
  return child;
}

// False at the deadline, or when the caller gives up.
bool wait_for_bytes(const PluginCall& call, int fd, Clock::time_point deadline) {
  constexpr std::int64_t kSliceMs = 100;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || (call.stopped != nullptr && *call.stopped)) return false;
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(std::min(left, kSliceMs))) > 0) return true;
  }
}

// Everything the child writes until it closes its end.
Result<std::string> read_all(const PluginCall& call, const Child& child,
                             Clock::time_point deadline) {
  std::string bytes;
  for (;;) {
    if (!wait_for_bytes(call, child.output.number(), deadline)) {
      return unavailable(call,
                         "no answer within " + to_text(call.deadline) + "; the driver may hang");
    }
    char buffer[4096];
    const ssize_t got = ::read(child.output.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unavailable(call, std::strerror(errno));
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
    if (bytes.size() > kAnswerBytesMax) return unavailable(call, "endless answer");
  }
}

// A child in an uninterruptible call cannot be reaped yet; the kernel does it when this process
// ends.
int reap(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    int status = 0;
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped == pid) return status;
    if (reaped < 0 && errno != EINTR) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(i < 20 ? 1 : 5));
  }
  return -1;
}

std::string death(int status) {
  if (WIFSIGNALED(status)) return "died of signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

}  // namespace

std::string own_program() {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::string() : path.string();
}

Result<std::string> find_plugin(const std::string& name, const std::string& program) {
  if (name.find('/') != std::string::npos) return name;
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  std::string tried;
  for (const char* place : {"../plugins", "../lib/muster/plugins", "plugins"}) {
    const std::filesystem::path path =
        (folder / place / ("muster_gpu_" + name + ".so")).lexically_normal();
    std::error_code failed;
    if (std::filesystem::exists(path, failed)) return path.string();
    tried += (tried.empty() ? "" : ", ") + path.string();
  }
  return fail(ErrorCode::kNotFound, "no gpu plugin \"" + name + "\": looked for " + tried);
}

Result<std::vector<GpuFacts>> list_gpus(const PluginCall& call) {
  const Result<Child> child = spawn(call);
  if (!child) return child.error();
  const Result<std::string> bytes =
      read_all(call, *child, Clock::now() + std::chrono::microseconds(call.deadline.us));
  if (!bytes) ::kill(child->pid, SIGKILL);
  const int status = reap(child->pid);
  if (!bytes) return bytes.error();
  if (status != 0) return unavailable(call, death(status));
  const auto answer = decode<GpuList>(*bytes);
  if (!answer) return unavailable(call, answer.error().message);
  if (!answer->error.empty()) return unavailable(call, answer->error);
  const Result<void> checked = check_gpus(answer->gpus);
  if (!checked) return unavailable(call, checked.error().message);
  return answer->gpus;
}

}  // namespace muster
