// muster-policy: runs a site's submit policy shut in: as another user or in namespaces of its own,
// without sockets, without files but those of the system's programs, with little memory. The
// controller starts it for one request and kills it at the deadline.
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/daemon/command_line.h"

namespace {

constexpr int kExitShutIn = 125;    // The program could not be shut in.
constexpr int kExitNotFound = 126;  // It could not be started.
constexpr rlim_t kMemoryBytes = rlim_t{2} << 30U;
constexpr rlim_t kProcesses = 512;  // Of that user.
constexpr rlim_t kFiles = 256;

// Rights of Landlock by version; headers of older systems lack the later ones.
constexpr std::uint64_t kRightsRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kRightsFirst = (std::uint64_t{1} << 13U) - 1;
constexpr std::array<std::pair<int, std::uint64_t>, 3> kRightsLater{
    {{2, std::uint64_t{1} << 13U}, {3, std::uint64_t{1} << 14U}, {5, std::uint64_t{1} << 15U}}};
constexpr std::uint64_t kNetAll = 3;     // To bind and to connect; since version 4.
constexpr std::uint64_t kScopesAll = 3;  // Abstract sockets and signals; since version 6.

// What programs and their interpreters need. Nothing of a site's is in it.
constexpr std::array kReadable{"/usr",
                               "/bin",
                               "/sbin",
                               "/lib",
                               "/lib32",
                               "/lib64",
                               "/etc/passwd",
                               "/etc/group",
                               "/etc/nsswitch.conf",
                               "/etc/localtime",
                               "/etc/ld.so.cache",
                               "/etc/alternatives",
                               "/etc/perl",
                               "/etc/python3",
                               "/dev/zero",
                               "/dev/urandom",
                               "/dev/random"};

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#endif
constexpr std::uint32_t kOtherNumbers = 0x40000000;  // Where x86 has a second set of calls.

// No sockets at all: where the controller is a role of the database, so would be its child.
constexpr std::array<long, 5> kNeverCalled{SYS_socket, SYS_io_uring_setup, SYS_ptrace,
                                           SYS_process_vm_readv, SYS_process_vm_writev};
// Where the program sees other processes than its own.
constexpr std::array<long, 6> kNoSignals{SYS_kill,
                                         SYS_tkill,
                                         SYS_tgkill,
                                         SYS_pidfd_send_signal,
                                         SYS_rt_sigqueueinfo,
                                         SYS_rt_tgsigqueueinfo};

struct Wanted {
  std::string user = "nobody";
  std::uint32_t seconds = 5;
  std::string program;
};

struct Identity {
  uid_t uid;
  gid_t gid;
};

struct Rules {
  std::uint64_t files;
  std::uint64_t net;
  std::uint64_t scopes;
};

int complain(const std::string& what) {
  std::fprintf(stderr, "muster-policy: %s\n", what.c_str());
  return kExitShutIn;
}

int complain_of_errno(const std::string& what) {
  return complain(what + ": " + std::strerror(errno));
}

bool find_user(const std::string& name, Identity& found) {
  std::vector<char> buffer(64U << 10U);
  passwd entry{};
  passwd* known = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &known) != 0 ||
      known == nullptr) {
    return false;
  }
  found = {entry.pw_uid, entry.pw_gid};
  return true;
}

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

// Where the kernel permits it: no network, and processes that end with the first one. Whether it
// will see no processes but its own.
bool leave_namespaces(bool as_root) {
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  const int apart = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID;
  if (as_root) {
    return unshare(apart) == 0;
  }
  if (unshare(apart | CLONE_NEWUSER) != 0) return false;
  static_cast<void>(write_file("/proc/self/setgroups", "deny"));
  static_cast<void>(write_file("/proc/self/uid_map", uid + " " + uid + " 1"));
  static_cast<void>(write_file("/proc/self/gid_map", gid + " " + gid + " 1"));
  return true;
}

void allow(int rules, const std::string& path, std::uint64_t rights) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;  // What is not there cannot be read either.
  struct stat facts {};
  if (fstat(fd, &facts) == 0 && !S_ISDIR(facts.st_mode)) rights &= ~LANDLOCK_ACCESS_FS_READ_DIR;
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = rights;
  beneath.parent_fd = fd;
  static_cast<void>(
      syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0U));
  close(fd);
}

// False where the kernel has no Landlock.
bool shut_files_out(const std::string& program) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0U, 1U);
  if (version < 1) return false;
  Rules wanted{kRightsFirst, version >= 4 ? kNetAll : 0, version >= 6 ? kScopesAll : 0};
  for (const auto& [since, right] : kRightsLater) wanted.files |= version >= since ? right : 0;
  const std::size_t size = version >= 6 ? sizeof wanted : version >= 4 ? 16 : 8;
  const auto rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &wanted, size, 0U));
  if (rules < 0) return false;
  for (const char* path : kReadable) allow(rules, path, kRightsRead);
  allow(rules, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
  allow(rules, program, kRightsRead);
  allow(rules, program + ".d", kRightsRead);
  const bool shut = syscall(SYS_landlock_restrict_self, rules, 0U) == 0;
  close(rules);
  return shut;
}

sock_filter step(std::uint32_t code, std::uint32_t value, int if_true = 0, int if_not = 0) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
          static_cast<std::uint8_t>(if_not), value};
}

// Calls that fail with EPERM from here on.
bool deny_calls(const std::vector<long>& denied) {
  constexpr std::uint32_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr std::uint32_t kIsEqual = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr std::uint32_t kEnd = BPF_RET | BPF_K;
  std::vector<sock_filter> steps{step(kLoad, offsetof(seccomp_data, arch)),
                                 step(kIsEqual, kMachine, 1, 0),
                                 step(kEnd, SECCOMP_RET_KILL_PROCESS),
                                 step(kLoad, offsetof(seccomp_data, nr)),
                                 step(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 0, 1),
                                 step(kEnd, SECCOMP_RET_KILL_PROCESS)};
  for (const long call : denied) {
    steps.push_back(step(kIsEqual, static_cast<std::uint32_t>(call), 0, 1));
    steps.push_back(step(kEnd, SECCOMP_RET_ERRNO | EPERM));
  }
  steps.push_back(step(kEnd, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<std::uint16_t>(steps.size()), steps.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool limit(decltype(RLIMIT_CPU) what, rlim_t most) {
  rlimit now{};
  if (getrlimit(what, &now) != 0) return false;
  const rlimit wanted{std::min(most, now.rlim_max), std::min(most, now.rlim_max)};
  return setrlimit(what, &wanted) == 0;
}

bool limit_all(std::uint32_t seconds) {
  return limit(RLIMIT_CPU, seconds) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) &&
         limit(RLIMIT_NOFILE, kFiles) && limit(RLIMIT_NPROC, kProcesses);
}

bool become(const Identity& who) {
  if (setgroups(0, nullptr) != 0 || setresgid(who.gid, who.gid, who.gid) != 0 ||
      setresuid(who.uid, who.uid, who.uid) != 0) {
    return false;
  }
  return getuid() == who.uid && geteuid() == who.uid && setuid(0) != 0;
}

// The program's own process. Returns only when it could not be started.
int start(const Wanted& wanted, bool as_root, const Identity& who, bool is_alone) {
  const bool shut = shut_files_out(wanted.program);
  if (!shut && !as_root)
    return complain(
        "the program cannot be kept from the controller's files: this kernel has no Landlock, and "
        "the controller does not run as root");
  if (!limit_all(wanted.seconds)) return complain_of_errno("limits");
  if (as_root && !become(who)) return complain_of_errno("user " + wanted.user);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return complain_of_errno("prctl");
  if (chdir("/") != 0) return complain_of_errno("chdir /");
  umask(077);
  std::vector<long> denied(kNeverCalled.begin(), kNeverCalled.end());
  if (!is_alone) denied.insert(denied.end(), kNoSignals.begin(), kNoSignals.end());
  if (!deny_calls(denied)) return complain_of_errno("seccomp");
  static_cast<void>(syscall(SYS_close_range, 3U, ~0U, 4U));  // Close on exec.
  std::string program = wanted.program;
  const std::string failed = program + " cannot be started" + (as_root ? " as " + wanted.user : "");
  char* argv[] = {program.data(), nullptr};
  char* environment[] = {nullptr};
  // The last: this process itself may need more, under a sanitizer.
  if (!limit(RLIMIT_AS, kMemoryBytes)) return complain_of_errno("limits");
  execve(program.c_str(), argv, environment);
  std::fprintf(stderr, "muster-policy: %s: %s\n", failed.c_str(), std::strerror(errno));
  return kExitNotFound;
}

int run(const Wanted& wanted) {
  const bool as_root = geteuid() == 0;
  Identity who{geteuid(), getegid()};
  if (as_root && !find_user(wanted.user, who)) return complain("there is no user " + wanted.user);
  if (as_root && who.uid == 0) return complain("user: root would not be shut in");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return complain_of_errno("prctl");
  const bool is_alone = leave_namespaces(as_root);
  const pid_t child = fork();
  if (child < 0) return complain_of_errno("fork");
  if (child == 0) _exit(start(wanted, as_root, who, is_alone));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs a site's submit policy shut in; the controller starts it.", "muster-policy"};
  Wanted wanted;
  app.add_option("--user", wanted.user, "who runs it when the caller is root (nobody)");
  app.add_option("--seconds", wanted.seconds, "of CPU time it may use (5)");
  app.add_option("PROGRAM", wanted.program, "an absolute path")->required();
  app.set_version_flag("--version", std::string("muster-policy ") + MUSTER_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return muster::end_command_line(app, error);
  }
  // In a namespace whose first process has ended nothing can be started any more, a leak checker's
  // helper neither: there is nothing left to do at an exit.
  _exit(run(wanted));
}
