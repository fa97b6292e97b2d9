// The first process of an attempt: starts the ranks, reaps whatever becomes its child, and tells
// how ranks ended.
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/order/descriptors.h"
#include "worker/shepherd/task.h"

namespace muster {
namespace {

// fork() with the flags only clone3 knows. The caller is single-threaded, so libc's state is whole
// in the child.
pid_t fork_with(std::uint64_t flags, int cgroup, int* handle = nullptr, pid_t wanted = 0) {
  clone_args args{};
  if (wanted > 0) {
    args.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
    args.set_tid_size = 1;
  }
  args.flags = flags | (handle != nullptr ? CLONE_PIDFD : 0);
  args.pidfd = reinterpret_cast<std::uintptr_t>(handle);
  args.exit_signal = SIGCHLD;
  if (cgroup >= 0) args.cgroup = static_cast<unsigned>(cgroup);
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

void report_failure(const TaskSet& tasks, std::uint32_t local_rank, const std::string& why) {
  TaskReport report;
  report.kind = TaskReport::Kind::kFailed;
  report.local_rank = local_rank;
  std::strncpy(report.text, why.c_str(), TaskReport::kTextBytes - 1);
  send_report(tasks.report, report, {});
}

[[noreturn]] void fail_task(const TaskSet& tasks, std::uint32_t local_rank, const Error& error) {
  report_failure(tasks, local_rank, error.message);
  ::_exit(127);
}

Result<void> enter_namespaces() {
  // Mounts made later on the host still arrive; ours never leave.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return failed("make / a slave");
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (::mount("proc", "/proc", "proc", flags, "hidepid=invisible") != 0 &&
      ::mount("proc", "/proc", "proc", flags, nullptr) != 0) {
    return failed("mount /proc");
  }
  return {};
}

pid_t start_rank(const TaskSet& tasks, const TaskPlan& plan, int gate) {
  const Fd group = tasks.cgroup->unified_rank(plan.local_rank);
  const std::uint64_t flags = group.is_open() ? CLONE_INTO_CGROUP : 0;
  // torchrun tells its agents apart by host name and pid: with a pid of the rank's own, two nodes
  // on one machine meet. Where the kernel will not give it, any other does.
  const pid_t wanted = tasks.namespaces ? static_cast<pid_t>(plan.rank) + 2 : 0;
  pid_t pid = fork_with(flags, group.number(), nullptr, wanted);
  if (pid < 0 && wanted > 0) pid = fork_with(flags, group.number());
  if (pid == 0) fail_task(tasks, plan.local_rank, run_task(tasks, plan, gate));
  if (pid < 0) report_failure(tasks, plan.local_rank, std::string("fork: ") + std::strerror(errno));
  return pid;
}

// The first rank opens (and empties) files that the others share before they start.
std::vector<pid_t> start_ranks(const TaskSet& tasks) {
  std::vector<pid_t> pids;
  for (const TaskPlan& plan : *tasks.plans) {
    const bool is_first_of_several = plan.local_rank == 0 && tasks.plans->size() > 1;
    int ends[2] = {-1, -1};
    if (is_first_of_several && ::pipe(ends) != 0) ends[0] = ends[1] = -1;
    Fd wait_end(ends[0]);
    Fd gate(ends[1]);
    pids.push_back(start_rank(tasks, plan, gate.number()));
    gate.reset();
    char byte = 0;
    while (wait_end.is_open() && ::read(wait_end.number(), &byte, 1) < 0 && errno == EINTR) {
    }
  }
  return pids;
}

// pid 1 must not keep the shepherd's sockets open: their closing is how others see the shepherd
// die.
void close_others(const TaskSet& tasks) {
  std::vector<int> kept{0, 1, 2, tasks.report, tasks.attempt_directory};
  for (const Fd& entry : tasks.v1_entries) kept.push_back(entry.number());
  std::sort(kept.begin(), kept.end());
  unsigned from = 0;
  for (const int number : kept) {
    const auto keep = static_cast<unsigned>(number);
    if (keep > from) ::close_range(from, keep - 1, 0);
    from = keep + 1;
  }
  ::close_range(from, ~0U, 0);
}

[[noreturn]] void run_pid1(const TaskSet& tasks) {
  close_others(tasks);
  ::prctl(PR_SET_NAME, "muster-init");
  // Its own namespace dies with pid 1. Without one it must live on, so that whoever ends the
  // attempt finds what became its children.
  if (tasks.namespaces) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!tasks.namespaces) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (tasks.namespaces) {
    const Result<void> entered = enter_namespaces();
    if (!entered.ok()) fail_task(tasks, 0, entered.error());
  }
  const std::vector<pid_t> pids = start_ranks(tasks);
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) ::_exit(0);
    const auto rank = std::find(pids.begin(), pids.end(), pid);
    if (rank == pids.end()) continue;
    TaskReport report;
    report.kind = TaskReport::Kind::kExited;
    report.local_rank = static_cast<std::uint32_t>(rank - pids.begin());
    report.value = status;
    send_report(tasks.report, report, {});
  }
}

}  // namespace

Result<Pid1> start_tasks(const TaskSet& tasks) {
  int handle = -1;
  const pid_t pid = fork_with(tasks.namespaces ? CLONE_NEWPID | CLONE_NEWNS : 0, -1, &handle);
  if (pid == 0) run_pid1(tasks);
  if (pid < 0) return failed("clone");
  return Pid1{pid, Fd(handle)};
}

void send_report(int socket, const TaskReport& report, const std::vector<int>& fds) {
  (void)send_message(socket, {reinterpret_cast<const char*>(&report), sizeof(report)}, fds);
}

}  // namespace muster
