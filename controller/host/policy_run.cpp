// A child with a socket for its standard input and pipes for its outputs.
#include "controller/host/policy_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/types/text.h"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookEveryMs = 100;  // For stopping.
constexpr std::size_t kComplaintBytesMax = 4096;
constexpr std::size_t kComplaintShownMax = 300;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int value() const { return fd_; }

 private:
  int fd_;
};

struct Child {
  pid_t pid = -1;
  Fd ended;  // Readable once it has.
  Fd input;
  Fd output;
  Fd complaint;
};

Error unavailable(const std::string& what) {
  return fail(ErrorCode::kUnavailable, what + ": " + std::strerror(errno));
}

bool make_pipe(Fd& read_end, Fd& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

bool make_socket(Fd& ours, Fd& theirs) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  ours.reset(ends[0]);
  theirs.reset(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// In a process group of its own, with an empty environment.
int spawn(const PolicyRun& run, const std::array<int, 3>& streams, pid_t& pid) {
  std::array<std::string, 6> words{run.shut_in,
                                   "--user",
                                   run.user,
                                   "--seconds",
                                   std::to_string(std::max<std::int64_t>(run.timeout.seconds(), 1)),
                                   run.program};
  std::array<char*, 7> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
  std::array<char*, 1> environment{};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i)
    posix_spawn_file_actions_adddup2(&actions, streams[static_cast<std::size_t>(i)], i);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int problem = posix_spawn(&pid, run.shut_in.c_str(), &actions, &attributes, argv.data(),
                                  environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

Result<void> begin(const PolicyRun& run, Child& child) {
  Fd input;
  Fd output;
  Fd complaint;
  if (!make_socket(child.input, input) || !make_pipe(child.output, output) ||
      !make_pipe(child.complaint, complaint)) {
    return unavailable("no pipe");
  }
  const int problem = spawn(run, {input.value(), output.value(), complaint.value()}, child.pid);
  if (problem != 0) {
    child.pid = -1;
    return fail(ErrorCode::kUnavailable,
                run.shut_in + " cannot be started: " + std::strerror(problem));
  }
  child.ended.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (child.ended.value() < 0) return unavailable("pidfd_open");
  return {};
}

// Writes what it takes; closes the socket once all is written, or nobody reads.
void feed(Child& child, std::string_view& input) {
  if (child.input.value() < 0) return;
  while (!input.empty()) {
    const ssize_t n = ::send(child.input.value(), input.data(), input.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) break;
    input.remove_prefix(static_cast<std::size_t>(n));
  }
  child.input.reset();
}

// Reads what is there, up to one byte more than `most`. False at the end.
bool drain(Fd& from, std::string& into, std::size_t most) {
  std::array<char, 16384> buffer{};
  while (into.size() <= most) {
    const std::size_t room = std::min(buffer.size(), most + 1 - into.size());
    const ssize_t n = ::read(from.value(), buffer.data(), room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    into.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return true;
}

struct Said {
  std::string output;
  std::string complaint;
};

// Until it has ended, or must not go on; then the text says why.
std::string attend(const PolicyRun& run, Child& child, std::string_view input, Said& said) {
  const auto deadline = Clock::now() + std::chrono::microseconds(run.timeout.us);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return "did not answer within " + to_text(run.timeout);
    if (run.stopping) return "was given up, for the controller stops";
    std::array<pollfd, 4> watched{
        pollfd{child.ended.value(), POLLIN, 0}, pollfd{child.output.value(), POLLIN, 0},
        pollfd{child.complaint.value(), POLLIN, 0}, pollfd{child.input.value(), POLLOUT, 0}};
    const int wait = static_cast<int>(std::min<std::int64_t>(left + 1, kLookEveryMs));
    if (::poll(watched.data(), watched.size(), wait) < 0 && errno != EINTR) return "poll failed";
    if (watched[3].revents != 0) feed(child, input);
    // What lies in the pipes at the end is read after the look at the end.
    const bool has_ended = watched[0].revents != 0;
    if (child.output.value() >= 0 && !drain(child.output, said.output, kPolicyOutputBytesMax))
      child.output.reset();
    if (child.complaint.value() >= 0 && !drain(child.complaint, said.complaint, kComplaintBytesMax))
      child.complaint.reset();
    if (said.complaint.size() > kComplaintBytesMax) said.complaint.resize(kComplaintBytesMax);
    if (said.output.size() > kPolicyOutputBytesMax) return "wrote more than 4 MiB";
    if (has_ended) return "";
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t at = text.rfind('\n');
  if (at != std::string::npos) text.erase(0, at + 1);
  if (text.size() > kComplaintShownMax) text.resize(kComplaintShownMax);
  return escape_for_terminal(text);
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code > 128) return "was killed by signal " + std::to_string(code - 128);
  return code == 0 ? "" : "ended with " + std::to_string(code);
}

}  // namespace

Result<std::string> run_policy(const PolicyRun& run, std::string_view input) {
  Child child;
  const Result<void> begun = begin(run, child);
  Said said;
  std::string problem = begun ? attend(run, child, input, said) : begun.error().message;
  if (child.pid > 0) {
    ::kill(-child.pid, SIGKILL);  // What it left in its group, too.
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (problem.empty()) problem = ending(status);
  }
  if (problem.empty()) return std::move(said.output);
  const std::string complaint = last_line(std::move(said.complaint));
  if (!complaint.empty()) problem += " (" + complaint + ")";
  return fail(ErrorCode::kUnavailable, run.program + " " + problem);
}

}  // namespace muster
