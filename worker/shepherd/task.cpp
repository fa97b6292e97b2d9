// One rank, from root to exec: groups, limits, identity, and then everything as the user.
#include "worker/shepherd/task.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace muster {
namespace {

const dev_t kNullDevice = makedev(1, 3);

struct Stream {
  Fd file;
  Fd reader;  // For gpulogs; closed when the user may not read what it writes.
  struct stat facts {};
};

Result<void> enter_cgroups(const TaskSet& tasks, const TaskPlan& plan) {
  for (const Fd& entry : tasks.v1_entries) {
    if (::write(entry.number(), "0", 1) != 1) return failed("enter control group");
  }
  if (!tasks.cgroup->exists()) return {};
  const Result<std::string> own = read_small_file("/proc/self/cgroup");
  if (own.ok() && tasks.cgroup->holds(*own, plan.local_rank)) return {};
  return fail(ErrorCode::kUnavailable, "enter control group: it did not take");
}

void pin_to_cpus(const TaskSet& tasks, const TaskPlan& plan, std::vector<std::string>& capped) {
  if (plan.local_rank >= tasks.launch->pins.size()) return;
  const std::vector<std::uint32_t>& cpus = tasks.launch->pins[plan.local_rank].cpus;
  cpu_set_t* set = CPU_ALLOC(kCpuNumberMax + 1);
  const std::size_t size = CPU_ALLOC_SIZE(kCpuNumberMax + 1);
  CPU_ZERO_S(size, set);
  for (const std::uint32_t cpu : cpus) CPU_SET_S(std::min(cpu, kCpuNumberMax), size, set);
  if (::sched_setaffinity(0, size, set) != 0)
    capped.push_back("not pinned to CPUs " + to_cpu_list(cpus) + ": " + std::strerror(errno));
  CPU_FREE(set);
}

// The others have been so since the shepherd started.
void reset_signals() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<void> make_directories_of(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string directory = path.substr(0, at);
    if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
      return failed("mkdir " + directory);
  }
  return {};
}

void attach_reader(Stream& stream) {
  ::fstat(stream.file.number(), &stream.facts);
  if (!S_ISREG(stream.facts.st_mode)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(stream.file.number());
  stream.reader = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

// Ours, in the attempt's directory, while still root: the user cannot reach it by name.
Result<Stream> open_private(const TaskSet& tasks, const char* prefix, std::uint32_t rank) {
  const std::string name = prefix + std::to_string(rank);
  Stream stream;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  stream.file = Fd(::openat(tasks.attempt_directory, name.c_str(), flags, 0600));
  if (!stream.file.is_open()) return failed("open " + name);
  attach_reader(stream);
  return stream;
}

Result<Stream> open_as_user(const TaskSet& tasks, const TaskPlan& plan, const StreamPlan& wanted) {
  const CommonOrder& common = tasks.launch->common;
  Stream stream;
  Result<Fd> file = open_output(wanted.path, common.launch.make_directories);
  if (!file.ok()) return file.error();
  stream.file = std::move(*file);
  const bool is_first = !wanted.shared || plan.local_rank == 0;
  if (is_first && common.append_banner) {
    const std::string banner =
        "===== muster: attempt " + std::to_string(common.attempt.attempt.value) + " of job " +
        std::to_string(common.attempt.job.value) + " on " + tasks.launch->node.node + " =====\n";
    if (::write(stream.file.number(), banner.data(), banner.size()) < 0)
      return failed("write banner");
  } else if (is_first && common.launch.open_mode == OpenMode::kTruncate) {
    struct stat facts {};
    if (::fstat(stream.file.number(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        ::ftruncate(stream.file.number(), 0) != 0) {
      return failed("truncate " + wanted.path);
    }
  }
  attach_reader(stream);
  return stream;
}

void report_starting(const TaskSet& tasks, const TaskPlan& plan, const Stream& output,
                     const Stream* errors, const std::vector<std::string>& capped) {
  TaskReport report;
  report.local_rank = plan.local_rank;
  report.value = ::getpid();
  std::vector<int> fds;
  const auto add = [&](const Stream& stream, std::uint32_t bit) {
    if (!stream.reader.is_open()) return;
    report.fds |= bit;
    fds.push_back(stream.reader.number());
  };
  add(output, 1);
  report.output_device = output.facts.st_dev;
  report.output_inode = output.facts.st_ino;
  if (errors != nullptr) {
    add(*errors, 2);
    report.errors_device = errors->facts.st_dev;
    report.errors_inode = errors->facts.st_ino;
  }
  std::string text;
  for (const std::string& one : capped) text += (text.empty() ? "" : "; ") + one;
  std::strncpy(report.text, text.c_str(), TaskReport::kTextBytes - 1);
  send_report(tasks.report, report, fds);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// execve, and /bin/sh for a text without a first line that names its interpreter, as every shell
// does it.
void exec_file(const std::string& path, const std::vector<std::string>& argv,
               const std::vector<char*>& environment) {
  ::execve(path.c_str(), pointers(argv).data(), environment.data());
  if (errno != ENOEXEC) return;
  std::vector<std::string> words{"/bin/sh", path};
  words.insert(words.end(), argv.begin() + 1, argv.end());
  ::execve("/bin/sh", pointers(words).data(), environment.data());
}

Error exec_task(const TaskPlan& plan) {
  const std::vector<char*> environment = pointers(plan.environment);
  const std::string& name = plan.argv.front();
  if (name.find('/') != std::string::npos) {
    exec_file(name, plan.argv, environment);
    return failed("exec " + name);
  }
  int worst = ENOENT;
  std::string_view rest = variable(plan.environment, "PATH");
  while (!rest.empty() && !name.empty()) {
    const std::size_t end = rest.find(':');
    const std::string directory(rest.substr(0, end));
    exec_file((directory.empty() ? "." : directory) + "/" + name, plan.argv, environment);
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  errno = worst;
  return failed("exec " + name + " (looked for on the job's PATH)");
}

Result<void> take_stdio(const Stream& output, const Stream& errors) {
  const Fd input(::open("/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!input.is_open()) return failed("open /dev/null");
  const int files[3] = {input.number(), output.file.number(), errors.file.number()};
  for (int target = 0; target < 3; ++target) {
    if (::dup2(files[target], target) < 0) return failed("dup2");
  }
  return {};
}

Result<void> become_user(const TaskSet& tasks, std::vector<std::string>& capped) {
  const bool no_new_privileges = tasks.launch->common.no_new_privileges;
  Result<void> done = set_resource_limits(capped);
  if (!done.ok()) return done;
  if (!tasks.single_user) return become(tasks.identity, no_new_privileges);
  if (no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed("no_new_privs");
  }
  return {};
}

}  // namespace

Result<Fd> open_output(const std::string& path, bool make_directories) {
  if (make_directories) {
    const Result<void> made = make_directories_of(path);
    if (!made.ok()) return made.error();
  }
  // Without O_NONBLOCK a FIFO nobody reads would hang us here.
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  Fd file(::open(path.c_str(), flags, 0666));
  if (!file.is_open()) return failed("open output " + path);
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return failed("stat output " + path);
  const bool is_null = S_ISCHR(facts.st_mode) && facts.st_rdev == kNullDevice;
  if (!S_ISREG(facts.st_mode) && !is_null) {
    return fail(ErrorCode::kInvalid, "open output " + path + ": not a regular file");
  }
  if (::fcntl(file.number(), F_SETFL, O_APPEND) != 0) return failed("fcntl output " + path);
  return file;
}

Error run_task(const TaskSet& tasks, const TaskPlan& plan, int gate) {
  const LaunchSpec& spec = tasks.launch->common.launch;
  const Result<void> entered = enter_cgroups(tasks, plan);
  if (!entered.ok()) return entered.error();
  ::setsid();
  reset_signals();
  const bool own_errors = !plan.errors_to_output;
  Result<Stream> output = Stream();
  Result<Stream> errors = Stream();
  if (plan.output.path.empty()) output = open_private(tasks, "out.", plan.rank);
  if (own_errors && plan.errors.path.empty()) errors = open_private(tasks, "err.", plan.rank);
  if (!output.ok()) return output.error();
  if (!errors.ok()) return errors.error();
  std::vector<std::string> capped;
  pin_to_cpus(tasks, plan, capped);
  const Result<void> became = become_user(tasks, capped);
  if (!became.ok()) return became.error();
  // From here on as the user: the kernel decides what it may enter, make and write.
  ::umask(spec.umask_bits);
  if (::chdir(spec.cwd.c_str()) != 0) return failed("chdir " + spec.cwd);
  if (!plan.output.path.empty()) output = open_as_user(tasks, plan, plan.output);
  if (!output.ok()) return output.error();
  if (own_errors && !plan.errors.path.empty()) errors = open_as_user(tasks, plan, plan.errors);
  if (!errors.ok()) return errors.error();
  const Result<void> taken = take_stdio(*output, own_errors ? *errors : *output);
  if (!taken.ok()) return taken.error();
  if (gate >= 0 && ::write(gate, "x", 1) != 1) return failed("start the other ranks");
  report_starting(tasks, plan, *output, own_errors ? &*errors : nullptr, capped);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  return exec_task(plan);
}

}  // namespace muster
