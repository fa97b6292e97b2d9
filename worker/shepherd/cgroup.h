// The control groups of one attempt on v2, v1 and hybrid machines; GROUP ends in muster/NAME:
//   v2    MOUNT/GROUP/ATTEMPT/{shepherd,tasks/RANK}
//   v1    MOUNT-OF-CONTROLLER/GROUP/ATTEMPT (tasks only)
// A hybrid machine (v1 controllers, a v2 tree without any) uses both: v2 to kill and to filter
// devices, v1 for limits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/order/fd.h"
#include "base/order/small_file.h"
#include "base/types/result.h"

namespace muster {

struct CgroupMounts {
  std::string unified;                    // Mount point of the v2 tree; empty when there is none.
  std::map<std::string, std::string> v1;  // Controller to mount point; named hierarchies left out.
};

// Pure. Of /proc/self/mountinfo and /proc/self/cgroup (controller, "" for v2, to path).
CgroupMounts parse_cgroup_mounts(std::string_view mountinfo);
std::map<std::string, std::string> parse_own_cgroups(std::string_view text);

struct CgroupLimits {
  std::uint64_t memory_mib = 0;  // 0: none.
  std::uint32_t cpus = 0;        // 0: none.
  bool devices = false;          // A device filter will be attached.
  std::string cpu_list;          // As the kernel writes it; empty: all CPUs.
};

struct CgroupCounters {
  std::uint64_t memory_peak_mib = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t oom_kills = 0;
  bool has_cpu = false;
};

class AttemptCgroup {
 public:
  // Finds where the groups of an attempt are or would be; the machine is looked at once in the life
  // of a process. In single-user mode only below our own
  // groups, where we may write. group is a path "[/...]/muster/NAME", attempt one component.
  static AttemptCgroup locate(const std::string& group, const std::string& attempt,
                              bool single_user);

  // Makes the groups and writes the limits. A controller this machine lacks is a warning; one that
  // refuses a limit is an error (in single-user mode a warning).
  Result<void> create(const CgroupLimits& limits, std::uint32_t ranks,
                      std::vector<std::string>& warnings);
  // Moves the calling process out of its starter's group; only v2 with controllers needs it.
  Result<void> enter_shepherd();

  bool exists() const { return !unified_.empty() || !v1_.empty(); }
  // What a rank needs to enter: a directory for CLONE_INTO_CGROUP (closed when there is no v2), and
  // `tasks` files of v1 into which the rank, still root and single-threaded, writes "0".
  Fd unified_rank(std::uint32_t local_rank) const;
  std::vector<Fd> v1_entries() const;
  // True when /proc/PID/cgroup of a rank names all our groups.
  bool holds(std::string_view proc_cgroup, std::uint32_t local_rank) const;

  std::string unified_tasks() const;  // For the device filter; empty when there is no v2.
  std::string v1_directory(const std::string& controller) const;  // Empty when there is none.

  std::vector<pid_t> pids() const;
  void kill_all() const;  // SIGKILL to every process, atomically where the kernel can.
  bool is_empty() const;
  CgroupCounters counters() const;
  void remove() const;  // Best effort; only of empty groups.
  // Removes what all attempts of the group share; false when something is still in there.
  bool remove_shared() const;

 private:
  Result<void> create_groups(std::uint32_t ranks);
  Result<void> create_unified(std::uint32_t ranks);
  Result<void> limit(const CgroupLimits& limits, std::vector<std::string>& warnings) const;
  Result<void> limit_memory(std::uint64_t mib) const;
  Result<void> limit_cpus(std::uint32_t cpus) const;
  void confine(const std::string& cpu_list, std::vector<std::string>& warnings);

  bool single_user_ = false;
  std::string unified_;                    // The attempt's directory; empty when there is no v2.
  bool unified_controls_ = false;          // v2 has the controllers.
  std::map<std::string, std::string> v1_;  // Controller to the attempt's directory.
  std::string own_path_;  // ".../muster/NAME/ATTEMPT" as /proc/PID/cgroup shows it.
};

// kill(2), but only ever for one process: 0 and below would be whole groups of them, 1 the machine.
void signal_process(pid_t pid, int number);

}  // namespace muster
