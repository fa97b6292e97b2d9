// The processes of an attempt: a tiny pid 1 and the ranks below it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/order/fd.h"
#include "worker/shepherd/cgroup.h"
#include "worker/shepherd/identity.h"
#include "worker/shepherd/plan.h"

namespace muster {

// What pid 1 and the ranks tell the shepherd, one packet each, over a socket that closes at exec.
struct TaskReport {
  enum class Kind : std::uint32_t { kStarting, kFailed, kExited };
  static constexpr std::size_t kTextBytes = 480;
  Kind kind = Kind::kStarting;
  std::uint32_t local_rank = 0;
  std::int32_t value = 0;  // Own pid when starting; wait status when exited.
  std::uint32_t fds = 0;   // Bit 0: output travels along; bit 1: errors, after it.
  std::uint64_t output_device = 0;
  std::uint64_t output_inode = 0;
  std::uint64_t errors_device = 0;
  std::uint64_t errors_inode = 0;
  char text[kTextBytes] = {};  // Failed: step and reason. Starting: what was capped.
};

// Everything the children need, made before the first fork; they share its memory, never change it
// for others.
struct TaskSet {
  const Launch* launch = nullptr;
  const std::vector<TaskPlan>* plans = nullptr;
  const AttemptCgroup* cgroup = nullptr;
  Identity identity;
  bool single_user = false;
  bool namespaces = false;  // Own pid and mount namespace.
  int report = -1;          // Packet socket to the shepherd.
  int attempt_directory = -1;
  std::vector<Fd> v1_entries;
};

// Forks pid 1, which starts every rank, tells how each ended, and stays until the last process
// below it is gone. In its own pid namespace its death is everybody's.
struct Pid1 {
  pid_t pid = -1;  // On the host.
  Fd handle;       // Readable when it has ended.
};
Result<Pid1> start_tasks(const TaskSet& tasks);

// In the rank: everything from root to exec. Returns only on failure, with the step and the reason.
// gate is written one byte once the files are open, unless it is negative.
Error run_task(const TaskSet& tasks, const TaskPlan& plan, int gate);

void send_report(int socket, const TaskReport& report, const std::vector<int>& fds);

// A regular file, or /dev/null, opened for appending by whoever the process is; anything else is
// refused.
Result<Fd> open_output(const std::string& path, bool make_directories);

}  // namespace muster
