// The two ends of an attempt: making it ready and starting it; and what is written down when it is
// over.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "worker/shepherd/shepherd.h"

namespace muster {
namespace {

constexpr off_t kExitFileBytes = 4096;
constexpr std::size_t kScriptNameBytesMax = 64;
constexpr std::size_t kTorchErrorBytesMax = 400;

// "17.0.1-train.sh": ours, with what is harmless of the user's name, so that $0 and ps say
// something.
std::string spooled_name(const AttemptKey& key, const std::string& script_name) {
  std::string leaf = script_name.substr(script_name.rfind('/') + 1);
  if (leaf.size() > kScriptNameBytesMax) leaf.resize(kScriptNameBytesMax);
  for (char& c : leaf) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '-') c = '_';
  }
  return to_text(key) + "-" + (leaf.empty() ? "script" : leaf);
}

}  // namespace

Result<void> Shepherd::prepare() {
  Result<CommonOrder> common = decode_common_order(spec_.common);
  if (!common.ok()) return common.error();
  Result<NodeOrder> node = decode_node_order(spec_.node_order);
  if (!node.ok()) return node.error();
  launch_.common = std::move(*common);
  launch_.node = std::move(*node);
  launch_.nccl_interface = spec_.nccl_interface;
  launch_.gloo_interface = spec_.gloo_interface;
  // Room for the exit record is taken now, so that a disk that fills up later cannot lose it.
  const Fd draft(::openat(kAttemptDirFd, kExitDraftFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!draft.is_open() || ::posix_fallocate(draft.number(), 0, kExitFileBytes) != 0) {
    return failed("take room for the exit record");
  }
  const std::uint32_t processes = launch_.processes();
  CgroupLimits limits;
  limits.memory_mib = launch_.node.memory_mib;
  limits.cpus = launch_.node.cpus;
  launch_.pins = spec_.pins;
  limits.cpu_list = to_cpu_list(cpus_of(spec_.pins));
  limits.devices = launch_.node.device_filter;
  Result<void> done = cgroup_.create(limits, processes, warnings_);
  if (done.ok()) done = cgroup_.enter_shepherd();
  if (done.ok()) done = filter_devices();
  if (done.ok() && processes > 0 && !spec_.script.empty()) done = spool_script();
  if (done.ok() && launch_.common.launch.mode == LaunchMode::kTorchrun) done = make_error_file();
  return done;
}

Result<void> Shepherd::filter_devices() {
  if (!launch_.node.device_filter) return {};
  const Result<void> attached = attach_device_filter(cgroup_, launch_.node.devices);
  launch_.filtered = attached.ok();
  if (attached.ok() || !spec_.single_user) return attached;
  warnings_.push_back("no device filter: " + attached.error().message);
  return {};
}

// The file is the user's to read and run, in a directory where only we make and remove names.
Result<void> Shepherd::spool_script() {
  script_name_ = spooled_name(spec_.key, launch_.common.launch.script_name);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(::openat(kScriptsDirFd, script_name_.c_str(), flags, 0500));
  if (!file.is_open()) return failed("spool script");
  for (std::size_t at = 0; at < spec_.script.size();) {
    const ssize_t wrote =
        ::write(file.number(), spec_.script.data() + at, spec_.script.size() - at);
    if (wrote < 0 && errno != EINTR) return failed("spool script");
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  const CommonOrder& common = launch_.common;
  if (!spec_.single_user && ::fchown(file.number(), common.uid.value, common.gid.value) != 0) {
    return failed("spool script");
  }
  if (::fchmod(file.number(), 0500) != 0) return failed("spool script");
  launch_.script_path = spec_.scripts_path + "/" + script_name_;
  return {};
}

// torchrun writes why it failed into a file that it must be able to remove and make anew: hence a
// directory, which we keep open and never open by name again.
Result<void> Shepherd::make_error_file() {
  error_dir_name_ = to_text(spec_.key) + "-error";
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const bool made = ::mkdirat(kScriptsDirFd, error_dir_name_.c_str(), 0700) == 0;
  if (made) error_dir_ = Fd(::openat(kScriptsDirFd, error_dir_name_.c_str(), flags));
  const CommonOrder& common = launch_.common;
  if (!error_dir_.is_open() ||
      (!spec_.single_user &&
       ::fchown(error_dir_.number(), common.uid.value, common.gid.value) != 0)) {
    return failed("make the error file");
  }
  launch_.error_file = spec_.scripts_path + "/" + error_dir_name_ + "/" + kErrorFile;
  return {};
}

void Shepherd::go(const LocalGo& message) {
  if (phase_ != LocalPhase::kPrepared) return;
  const Result<GoOrder> order = decode_go_order(message.go);
  if (!order.ok() || order->attempt != spec_.key) return;
  launch_.go = *order;
  const Result<void> launched = launch();
  if (!launched.ok()) return fail_launch(launched.error());
  enter(LocalPhase::kRunning);
}

Result<void> Shepherd::launch() {
  const CommonOrder& common = launch_.common;
  record_.started_wall = {walltime_us()};
  started_us_ = boottime_us();
  if (common.time_limit_s > 0) limit_us_ = started_us_ + common.time_limit_s * 1000000;
  if (launch_.processes() == 0)
    return {};  // The other members of a script job only hold their nodes.
  plans_ = plan_tasks(launch_, split_environment(spec_.environment));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("socketpair");
  reports_ = Fd(ends[0]);
  const Fd children_end(ends[1]);
  const int on = 1;
  ::setsockopt(reports_.number(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  TaskSet set;
  set.launch = &launch_;
  set.plans = &plans_;
  set.cgroup = &cgroup_;
  set.identity = {common.uid.value, common.gid.value, common.groups};
  set.single_user = spec_.single_user;
  set.namespaces = common.pid_namespace && !spec_.single_user;
  set.report = children_end.number();
  set.attempt_directory = kAttemptDirFd;
  set.v1_entries = cgroup_.v1_entries();
  // From here on something may have run, whatever becomes of us.
  const std::string tasks_name = to_text(spec_.key) + kTasksSuffix;
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Fd mark(::openat(kRunDirFd, tasks_name.c_str(), flags, 0600));
  if (!mark.is_open()) return failed("record the start");
  Result<Pid1> pid1 = start_tasks(set);
  if (!pid1.ok()) return pid1.error();
  pid1_ = pid1->pid;
  pid1_handle_ = std::move(pid1->handle);
  pid1_start_time_ = process_start_time(pid1_);
  tasks_.resize(plans_.size());
  for (std::size_t i = 0; i < plans_.size(); ++i) tasks_[i].record.rank = plans_[i].rank;
  return {};
}

// Once every rank has said where its output goes; for reading it after the end.
void Shepherd::write_tasks() const {
  TasksRecord record;
  record.uid = launch_.common.uid;
  record.gid = launch_.common.gid;
  record.groups = launch_.common.groups;
  record.pid1 = pid1_;
  record.pid1_start_time = pid1_start_time_;
  for (const Task& task : tasks_) {
    if (!task.started) return;
    record.tasks.push_back(task.record);
  }
  const Result<std::string> bytes = encode_file(record);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(::openat(kRunDirFd, (to_text(spec_.key) + kTasksSuffix).c_str(), flags, 0600));
  if (!bytes.ok() || !file.is_open()) return;
  (void)!::write(file.number(), bytes->data(), bytes->size());
}

std::string Shepherd::torch_error() {
  if (!error_dir_.is_open()) return {};
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const Fd file(::openat(error_dir_.number(), kErrorFile, flags));
  struct stat facts {};
  const bool is_users = file.is_open() && ::fstat(file.number(), &facts) == 0 &&
                        S_ISREG(facts.st_mode) &&
                        (spec_.single_user || facts.st_uid == launch_.common.uid.value);
  if (!is_users) return {};
  std::string text(kTorchErrorBytesMax, '\0');
  const ssize_t size = ::pread(file.number(), text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

ExitRecord Shepherd::exit_record() {
  const CgroupCounters counters = cgroup_.counters();
  ExitRecord record = record_;
  record.cause = cause_.value_or(Cause());
  record.cause.node = spec_.node;
  const bool is_ours = record.cause.kind == CauseKind::kCompleted ||
                       record.cause.kind == CauseKind::kExited ||
                       record.cause.kind == CauseKind::kSignalled;
  if (is_ours && counters.oom_kills > 0) {
    record.cause.kind = CauseKind::kOutOfMemory;
    record.cause.retry = Retry::kNo;
    record.cause.evidence = "the kernel killed " + std::to_string(counters.oom_kills) +
                            " of its processes at the limit of " +
                            std::to_string(launch_.node.memory_mib) + " MiB";
  }
  const bool held = started_us_ != 0 && plans_.empty();
  record.launched = held || std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
                      return task.started && !task.failed;
                    });
  if (started_us_ != 0) record.ran = microseconds(boottime_us() - started_us_);
  record.cpu_us = counters.has_cpu ? counters.cpu_us : children_cpu_us_;
  record.memory_peak_mib = std::max(counters.memory_peak_mib, children_peak_mib_);
  record.ended_wall = {walltime_us()};
  return record;
}

// On disk first. A disk that refuses keeps the attempt stopping: it is tried again.
void Shepherd::finish() {
  if (phase_ == LocalPhase::kEnded) return;
  record_ = exit_record();
  ExitFile file{spec_.key, launch_.common.epoch, launch_.common.expiry_s, record_};
  const Result<void> written = write_exit_file(kAttemptDirFd, file);
  if (!written.ok() && written.error().code != ErrorCode::kNotFound) {
    kill_again_us_ = boottime_us() + 1000000;
    if (warnings_.empty() || warnings_.back() != written.error().message) {
      warnings_.push_back(written.error().message);
      push_state();
    }
    return;
  }
  cgroup_.remove();
  if (!script_name_.empty()) ::unlinkat(kScriptsDirFd, script_name_.c_str(), 0);
  if (error_dir_.is_open()) remove_error_file(error_dir_name_);
  ::unlinkat(kRunDirFd, (to_text(spec_.key) + kSocketSuffix).c_str(), 0);
  enter(LocalPhase::kEnded);
  done_ = true;
}

}  // namespace muster
