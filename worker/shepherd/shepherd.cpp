// The shepherd's loop: orders in, reports of the ranks in, deadlines; states out.
#include "worker/shepherd/shepherd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/order/descriptors.h"

namespace muster {
namespace {

constexpr std::size_t kPeersMax = 8;
constexpr std::int64_t kLongestSleepUs = 10 * 1000000LL;  // poll() does not count a suspend.
constexpr std::int64_t kKillPauseMaxUs = 100 * 1000;
constexpr std::int64_t kEndPatienceUs = 5 * 1000;

std::string socket_path(const AttemptKey& key) {
  return "/proc/self/fd/" + std::to_string(kRunDirFd) + "/" + to_text(key) + kSocketSuffix;
}

}  // namespace

Shepherd::Shepherd(ShepherdSpec spec)
    : spec_(std::move(spec)),
      cgroup_(AttemptCgroup::locate(spec_.cgroup_group, to_text(spec_.key), spec_.single_user)) {}

void Shepherd::run() {
  // The launcher made this connection for us; whoever comes later must show the token.
  peers_.push_back({std::make_unique<LocalChannel>(Fd(kStatusFd)), true});
  if (!claim()) return;
  const Result<Fd> listening = listen_local(socket_path(spec_.key), 0600);
  const Result<void> prepared = listening.ok() ? prepare() : Result<void>(listening.error());
  if (listening.ok()) listen_ = Fd(::fcntl(listening->number(), F_DUPFD_CLOEXEC, 0));
  if (prepared.ok()) {
    enter(LocalPhase::kPrepared);
  } else {
    fail_launch(prepared.error());
  }
  while (!done_) {
    turn(boottime_us());
    if (!done_) wait_for_events();
  }
  for (Peer& peer : peers_) {
    pollfd writable{peer.channel->fd(), POLLOUT, 0};
    while (peer.channel->wants_write() && ::poll(&writable, 1, 1000) > 0 &&
           peer.channel->flush().ok()) {
    }
  }
}

// Exclusive: a launcher that gave this attempt up made the file itself.
bool Shepherd::claim() {
  ShepherdRecord record;
  record.key = spec_.key;
  record.pid = ::getpid();
  record.start_time = process_start_time(::getpid());
  record.boot_id = boot_id();
  record.token = spec_.token;
  record.ports = spec_.ports;
  const Result<CommonOrder> common = decode_common_order(spec_.common);
  if (common.ok()) record.epoch = common->epoch;
  const Result<std::string> bytes = encode_file(record);
  const std::string name = to_text(spec_.key) + kShepherdSuffix;
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Fd file(::openat(kRunDirFd, name.c_str(), flags, 0600));
  return bytes.ok() && file.is_open() &&
         ::write(file.number(), bytes->data(), bytes->size()) ==
             static_cast<ssize_t>(bytes->size());
}

void Shepherd::enter(LocalPhase phase) {
  phase_ = phase;
  push_state();
}

LocalState Shepherd::state() const {
  LocalState state;
  state.key = spec_.key;
  state.phase = phase_;
  state.epoch = launch_.common.epoch;
  state.ports = spec_.ports;
  state.warnings = warnings_;
  state.cpus = cpus_of(spec_.pins);
  if (phase_ == LocalPhase::kEnded) state.record = record_;
  return state;
}

void Shepherd::push_state() {
  const Result<std::string> frame = encode_local(state());
  if (!frame.ok()) return;
  for (Peer& peer : peers_) {
    if (peer.greeted) (void)peer.channel->send(*frame).ok();
  }
}

// What is due now: the time limit, the kill after the grace, the end.
void Shepherd::turn(std::int64_t now_us) {
  if (phase_ == LocalPhase::kRunning && limit_us_ != 0 && now_us >= limit_us_) {
    Cause cause;
    cause.kind = CauseKind::kTimedOut;
    cause.by = "time limit";
    stop(std::move(cause), launch_.common.kill_wait_s * 1000);
  }
  if (kill_us_ != 0 && now_us >= kill_us_) killing_ = true;
  if (!killing_ || (!pid1_handle_.is_open() && now_us < kill_again_us_)) return;
  if (all_gone()) {
    finish();
    return;
  }
  if (now_us < kill_again_us_) return;
  cgroup_.kill_all();
  for (const pid_t pid : pids()) signal_process(pid, SIGKILL);
  if (pid1_ > 0) signal_process(pid1_, SIGKILL);
  if (all_gone()) {
    finish();
    return;
  }
  kill_again_us_ = now_us + kill_pause_us_;
  kill_pause_us_ = std::min(kill_pause_us_ * 2, kKillPauseMaxUs);
}

void Shepherd::wait_for_events() {
  const std::int64_t now = boottime_us();
  std::int64_t until = now + kLongestSleepUs;
  if (phase_ == LocalPhase::kRunning && limit_us_ != 0) until = std::min(until, limit_us_);
  if (kill_us_ != 0 && !killing_) until = std::min(until, kill_us_);
  if (killing_) until = std::min(until, kill_again_us_);
  std::vector<pollfd> polls;
  polls.push_back({listen_.number(), POLLIN, 0});
  polls.push_back({reports_.number(), POLLIN, 0});
  polls.push_back({killing_ ? pid1_handle_.number() : -1, POLLIN, 0});
  for (const Peer& peer : peers_) {
    const int events = peer.channel->wants_write() ? POLLIN | POLLOUT : POLLIN;
    polls.push_back({peer.channel->fd(), static_cast<short>(events), 0});
  }
  const std::int64_t wait_us = std::max<std::int64_t>(0, until - now);
  timespec wait{wait_us / 1000000, wait_us % 1000000 * 1000};
  if (::ppoll(polls.data(), polls.size(), &wait, nullptr) <= 0) return;
  if (polls[1].revents != 0) read_reports();
  for (std::size_t i = 0; i + 3 < polls.size(); ++i) {
    Peer& peer = peers_[i];
    const short events = polls[i + 3].revents;
    if ((events & POLLOUT) != 0 && !peer.channel->flush().ok()) peer.channel.reset();
    if (peer.channel && (events & ~POLLOUT) != 0) read_peer(peer);
  }
  std::erase_if(peers_, [](const Peer& peer) { return peer.channel == nullptr; });
  if (polls[0].revents != 0) accept_peer();
}

void Shepherd::accept_peer() {
  Fd socket(::accept4(listen_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return;
  const Result<LocalPeer> peer = peer_of(socket.number());
  if (!peer.ok() || peer->uid != ::getuid() || peers_.size() >= kPeersMax) return;
  peers_.push_back({std::make_unique<LocalChannel>(std::move(socket)), false});
}

void Shepherd::read_peer(Peer& peer) {
  Result<std::vector<ReceivedFrame>> frames = peer.channel->receive();
  if (!frames.ok()) {
    peer.channel.reset();
    return;
  }
  for (ReceivedFrame& received : *frames) {
    if (!peer.channel) return;
    obey(peer, received);
  }
}

void Shepherd::obey(Peer& peer, ReceivedFrame& received) {
  const LocalFrame& frame = received.frame;
  if (!peer.greeted) {
    const Result<LocalHello> hello = decode_local<LocalHello>(frame);
    if (!hello.ok() || hello->token != spec_.token || !agree_on_version(*hello).ok()) {
      peer.channel.reset();
      return;
    }
    peer.greeted = true;
    LocalHello answer;
    answer.token = spec_.token;
    answer.node = spec_.node;
    (void)peer.channel->send(*encode_local(answer)).ok();
    if (const Result<std::string> bytes = encode_local(state()); bytes.ok()) {
      (void)peer.channel->send(*bytes).ok();
    }
  } else if (const auto go_order = decode_local<LocalGo>(frame); go_order.ok()) {
    go(*go_order);
  } else if (const auto kill = decode_local<LocalKill>(frame); kill.ok()) {
    Cause cause;
    cause.kind = kill->kind;
    cause.by = kill->by;
    if (cause.kind == CauseKind::kLaunchFailed) cause.retry = Retry::kElsewhere;
    stop(std::move(cause),
         kill->grace_ms >= 0 ? kill->grace_ms : launch_.common.kill_wait_s * 1000);
  } else if (const auto wanted = decode_local<LocalSignal>(frame); wanted.ok()) {
    if (phase_ != LocalPhase::kRunning) return;
    wanted->tasks_only ? signal_tasks(wanted->signal) : signal_all(wanted->signal);
  } else if (const auto log = decode_local<LocalLogOpen>(frame); log.ok()) {
    open_log(peer, *log);
  }
}

void Shepherd::open_log(Peer& peer, const LocalLogOpen& wanted) {
  LocalLogOpened answer;
  answer.number = wanted.number;
  answer.error = "no output of that rank on this node yet";
  Fd copy;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    if (wanted.rank >= 0 && plans_[i].rank != static_cast<std::uint32_t>(wanted.rank)) continue;
    const bool errors = wanted.errors && !plans_[i].errors_to_output;
    const Fd& file = errors ? task.errors : task.output;
    if (!file.is_open()) break;
    copy = Fd(::fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
    answer.path = errors ? task.record.errors.path : task.record.output.path;
    answer.error = copy.is_open() ? "" : "out of descriptors";
    break;
  }
  (void)peer.channel->send(*encode_local(answer), std::move(copy)).ok();
}

void Shepherd::read_reports() {
  for (;;) {
    TaskReport report;
    ReceivedMessage received = receive_message(reports_.number(), reinterpret_cast<char*>(&report),
                                               sizeof(report), MSG_DONTWAIT);
    if (received.size < 0) return;
    if (received.size == 0) {
      // pid 1 is gone, and with it the last that could report.
      reports_.reset();
      end();
      return;
    }
    if (received.size == sizeof(report)) note_report(report, received.descriptors, received.sender);
  }
}

void Shepherd::note_report(const TaskReport& report, std::vector<Fd>& fds, pid_t host_pid) {
  if (report.local_rank >= tasks_.size()) return;
  Task& task = tasks_[report.local_rank];
  const TaskPlan& plan = plans_[report.local_rank];
  const std::string text(report.text, ::strnlen(report.text, TaskReport::kTextBytes));
  switch (report.kind) {
    case TaskReport::Kind::kStarting:
      task.started = true;
      task.record.pid = host_pid;
      task.record.namespace_pid = report.value;
      task.record.start_time = process_start_time(host_pid);
      task.record.output = {plan.output.path, report.output_device, report.output_inode};
      task.record.errors = {plan.errors.path, report.errors_device, report.errors_inode};
      if ((report.fds & 2U) != 0 && !fds.empty()) {
        task.errors = std::move(fds.back());
        fds.pop_back();
      }
      if ((report.fds & 1U) != 0 && !fds.empty()) task.output = std::move(fds.front());
      if (!text.empty() && report.local_rank == 0) warnings_.push_back("limits: " + text);
      write_tasks();
      break;
    case TaskReport::Kind::kFailed: {
      task.failed = true;
      Cause cause;
      cause.kind = CauseKind::kLaunchFailed;
      cause.evidence = text;
      cause.rank = static_cast<std::int32_t>(plan.rank);
      stop(std::move(cause), launch_.common.kill_wait_s * 1000);
      break;
    }
    case TaskReport::Kind::kExited:
      note_exit(task, report.value);
      break;
  }
}

void Shepherd::note_exit(Task& task, int wait_status) {
  task.ended = true;
  Cause cause;
  cause.rank = static_cast<std::int32_t>(task.record.rank);
  if (WIFSIGNALED(wait_status)) {
    cause.kind = CauseKind::kSignalled;
    cause.signal = WTERMSIG(wait_status);
    // A training program does not SIGKILL itself: somebody outside did, so another attempt may well
    // succeed.
    if (cause.signal == SIGKILL) cause.retry = Retry::kAnywhere;
  } else if (WEXITSTATUS(wait_status) != 0) {
    cause.kind = CauseKind::kExited;
    cause.exit_status = WEXITSTATUS(wait_status);
  }
  if (cause.kind != CauseKind::kCompleted && !task.failed) {
    cause.evidence = torch_error();
    stop(std::move(cause), launch_.common.kill_wait_s * 1000);
  }
  const bool all_ended =
      std::all_of(tasks_.begin(), tasks_.end(), [](const Task& one) { return one.ended; });
  if (all_ended) end();
}

// All ranks have: pid 1 follows by itself unless they left something behind, which is then killed.
void Shepherd::end() {
  if (killing_) return;
  killing_ = true;
  kill_again_us_ = boottime_us() + kEndPatienceUs;
}

void Shepherd::fail_launch(const Error& error) {
  Cause cause;
  cause.kind = CauseKind::kLaunchFailed;
  cause.evidence = error.message;
  cause.retry = Retry::kElsewhere;
  stop(std::move(cause), 0);
}

// The first cause stays; a later call can only shorten the grace.
void Shepherd::stop(Cause cause, std::int64_t grace_ms) {
  if (phase_ == LocalPhase::kEnded) return;
  if (!cause_) {
    cause.node = spec_.node;
    cause_ = std::move(cause);
  }
  const std::int64_t until = boottime_us() + grace_ms * 1000;
  kill_us_ = kill_us_ == 0 ? until : std::min(kill_us_, until);
  if (tasks_.empty()) killing_ = true;
  if (phase_ != LocalPhase::kStopping) {
    signal_all(SIGTERM);
    signal_all(SIGCONT);
    enter(LocalPhase::kStopping);
  }
}

std::vector<pid_t> Shepherd::pids() const {
  if (cgroup_.exists()) return cgroup_.pids();
  return pid1_ > 0 ? descendants_of(pid1_) : std::vector<pid_t>();
}

void Shepherd::signal_all(int number) const {
  for (const pid_t pid : pids()) signal_process(pid, number);
}

void Shepherd::signal_tasks(int number) const {
  for (const Task& task : tasks_) {
    // pid 1 of the job reaps, so a number seen in a report may be another's by now: compare its
    // age.
    if (task.started && !task.ended &&
        process_start_time(task.record.pid) == task.record.start_time) {
      signal_process(task.record.pid, number);
    }
  }
}

bool Shepherd::all_gone() {
  if (pid1_ > 0) {
    int status = 0;
    rusage usage{};
    if (::wait4(pid1_, &status, WNOHANG, &usage) != pid1_) return false;
    pid1_ = -1;
    pid1_handle_.reset();
    children_cpu_us_ =
        static_cast<std::uint64_t>((usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                                   usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    children_peak_mib_ = static_cast<std::uint64_t>(usage.ru_maxrss) / 1024;
    reports_.reset();
  }
  return !cgroup_.exists() || cgroup_.is_empty();
}

}  // namespace muster
