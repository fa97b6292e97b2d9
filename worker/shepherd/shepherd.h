// The life of one attempt on this node, from its spec to its exit record.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/order/attempt_files.h"
#include "base/order/fd.h"
#include "base/order/local_channel.h"
#include "worker/shepherd/cgroup.h"
#include "worker/shepherd/device_filter.h"
#include "worker/shepherd/plan.h"
#include "worker/shepherd/task.h"

namespace muster {

class Shepherd {
 public:
  explicit Shepherd(ShepherdSpec spec);
  // Returns when the exit record is on disk and reported, or when another shepherd has the claim.
  void run();

 private:
  struct Task {
    TaskRecord record;
    Fd output;
    Fd errors;
    bool started = false;
    bool failed = false;
    bool ended = false;
  };
  struct Peer {
    std::unique_ptr<LocalChannel> channel;
    bool greeted = false;
  };

  bool claim();
  Result<void> prepare();
  Result<void> filter_devices();
  Result<void> spool_script();
  Result<void> make_error_file();
  void go(const LocalGo& message);
  Result<void> launch();

  void turn(std::int64_t now_us);
  void wait_for_events();
  void accept_peer();
  void read_peer(Peer& peer);
  void obey(Peer& peer, ReceivedFrame& received);
  void open_log(Peer& peer, const LocalLogOpen& wanted);
  void read_reports();
  void note_report(const TaskReport& report, std::vector<Fd>& fds, pid_t host_pid);
  void note_exit(Task& task, int wait_status);

  void fail_launch(const Error& error);
  void stop(Cause cause, std::int64_t grace_ms);
  void end();
  void signal_all(int number) const;
  void signal_tasks(int number) const;
  std::vector<pid_t> pids() const;
  bool all_gone();
  void finish();
  void write_tasks() const;
  ExitRecord exit_record();
  std::string torch_error();
  void push_state();
  LocalState state() const;
  void enter(LocalPhase phase);

  ShepherdSpec spec_;
  Launch launch_;
  AttemptCgroup cgroup_;
  LocalPhase phase_ = LocalPhase::kPreparing;
  std::vector<std::string> warnings_;
  std::vector<Peer> peers_;
  Fd listen_;
  Fd reports_;
  Fd error_dir_;                // Of torchrun.
  std::string script_name_;     // In the scripts directory; empty: none.
  std::string error_dir_name_;  // Likewise.
  std::vector<TaskPlan> plans_;
  std::vector<Task> tasks_;
  pid_t pid1_ = -1;
  Fd pid1_handle_;
  std::uint64_t pid1_start_time_ = 0;
  std::uint64_t children_cpu_us_ = 0;
  std::uint64_t children_peak_mib_ = 0;
  std::optional<Cause> cause_;
  std::int64_t started_us_ = 0;  // CLOCK_BOOTTIME; 0: not yet.
  std::int64_t limit_us_ = 0;    // When the time limit strikes; 0: never.
  std::int64_t kill_us_ = 0;     // When SIGTERM becomes SIGKILL; 0: never.
  bool killing_ = false;
  bool done_ = false;
  std::int64_t kill_again_us_ = 0;
  std::int64_t kill_pause_us_ = 1000;
  ExitRecord record_;
};

// Facts of a process and of this machine.
std::uint64_t process_start_time(pid_t pid);  // 0 when it is gone, or a zombie.
std::string boot_id();
std::vector<pid_t> descendants_of(pid_t pid);
std::int64_t boottime_us();
std::int64_t walltime_us();

// Mode reap: an attempt whose shepherd died. Kills what is left, waits until nothing is, and writes
// the exit record unless there is one.
void reap_attempt(const ShepherdSpec& spec);

// The user's directory below the scripts', with what torchrun wrote.
constexpr const char* kErrorFile = "error.json";
void remove_error_file(const std::string& directory);

// Mode sweep: removes the groups all attempts of this launcher shared, once nothing is in them.
void sweep_groups(const ShepherdSpec& spec);

}  // namespace muster
