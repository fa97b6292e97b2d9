// Control groups by plain file operations on the mounted trees.
#include "worker/shepherd/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>

namespace muster {
namespace {

constexpr std::uint64_t kPidsMax = 32768;
constexpr std::uint64_t kCpuPeriodUs = 100000;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The value after "key " in a file of such lines; 0 when there is none.
std::uint64_t value_of(const std::string& path, std::string_view key) {
  const Result<std::string> text = read_small_file(path);
  if (!text.ok()) return 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.substr(0, key.size()) == key && line.size() > key.size() && line[key.size()] == ' ') {
      return number_in(line.substr(key.size() + 1));
    }
  }
  return 0;
}

bool is_file(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return failed("mkdir " + path);
}

std::string above(const std::string& path) { return path.substr(0, path.rfind('/')); }

// With muster/ and the launcher's group above it, which only the first attempt finds missing.
Result<void> make_attempt_directory(const std::string& path) {
  if (make_directory(path).ok()) return {};
  Result<void> made = make_directory(above(above(path)));
  if (made.ok()) made = make_directory(above(path));
  return made.ok() ? make_directory(path) : made;
}

std::vector<std::string> child_groups(const std::string& path) {
  std::vector<std::string> names;
  struct stat facts {};
  // The kernel counts a link for each group below, besides the usual two: that spares a listing.
  if (::stat(path.c_str(), &facts) != 0 || facts.st_nlink == 2) return names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(directory);
  return names;
}

void collect_pids(const std::string& group, std::vector<pid_t>& pids) {
  const Result<std::string> text = read_small_file(group + "/cgroup.procs");
  if (text.ok()) {
    for (const std::string_view line : split(*text, '\n')) {
      if (!line.empty()) pids.push_back(static_cast<pid_t>(number_in(line)));
    }
  }
  for (const std::string& name : child_groups(group)) collect_pids(group + "/" + name, pids);
}

void remove_group(const std::string& group) {
  for (const std::string& name : child_groups(group)) remove_group(group + "/" + name);
  ::rmdir(group.c_str());
}

struct Machine {
  CgroupMounts mounts;
  std::map<std::string, std::string> own;
  bool unified_controls = false;
};

// Read once: the process that forks the shepherds has it ready for them.
const Machine& machine() {
  static const Machine kMachine = [] {
    Machine found;
    const Result<std::string> mountinfo = read_small_file("/proc/self/mountinfo");
    const Result<std::string> own = read_small_file("/proc/self/cgroup");
    if (!mountinfo.ok() || !own.ok()) return found;
    found.mounts = parse_cgroup_mounts(*mountinfo);
    found.own = parse_own_cgroups(*own);
    const Result<std::string> controllers =
        read_small_file(found.mounts.unified + "/cgroup.controllers");
    found.unified_controls = controllers.ok() && controllers->find("memory") != std::string::npos;
    return found;
  }();
  return kMachine;
}

}  // namespace

void signal_process(pid_t pid, int number) {
  if (pid > 1) ::kill(pid, number);
}

CgroupMounts parse_cgroup_mounts(std::string_view mountinfo) {
  CgroupMounts mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 3 >= fields.size()) continue;
    const std::string mount_point(fields[4]);
    if (fields[dash + 1] == "cgroup2" && mounts.unified.empty()) mounts.unified = mount_point;
    if (fields[dash + 1] != "cgroup") continue;
    for (const std::string_view option : split(fields[dash + 3], ',')) {
      static const std::set<std::string_view> kUsed{"memory",  "cpu",     "cpuacct", "pids",
                                                    "freezer", "devices", "cpuset"};
      if (kUsed.count(option) != 0) mounts.v1.emplace(std::string(option), mount_point);
    }
  }
  return mounts;
}

std::map<std::string, std::string> parse_own_cgroups(std::string_view text) {
  std::map<std::string, std::string> own;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string path(line.substr(second + 1));
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (names.empty()) own.emplace("", path);
    for (const std::string_view name : split(names, ',')) own.emplace(std::string(name), path);
  }
  return own;
}

AttemptCgroup AttemptCgroup::locate(const std::string& group, const std::string& attempt,
                                    bool single_user) {
  AttemptCgroup cgroup;
  cgroup.single_user_ = single_user;
  cgroup.own_path_ = group + "/" + attempt;
  const CgroupMounts& mounts = machine().mounts;
  // Root's group says where it lies; a user starts where it is and only where the group was given
  // to it.
  const auto base_in = [&](const std::string& mount, const std::string& controller) {
    if (!single_user) return mount;
    const auto own = machine().own.find(controller);
    const std::string path = own == machine().own.end() ? std::string() : own->second;
    const std::string base = path == "/" ? mount : mount + path;
    const bool is_given =
        ::access(base.c_str(), W_OK) == 0 && ::access((base + "/cgroup.procs").c_str(), W_OK) == 0;
    return is_given ? base : std::string();
  };
  if (!mounts.unified.empty()) {
    const std::string base = base_in(mounts.unified, "");
    cgroup.unified_controls_ = machine().unified_controls;
    if (!base.empty()) cgroup.unified_ = base + cgroup.own_path_;
  }
  for (const auto& entry : mounts.v1) {
    const bool wanted_only_without_v2 = entry.first == "freezer" || entry.first == "cpuacct";
    if (wanted_only_without_v2 && !cgroup.unified_.empty()) continue;
    const std::string base = base_in(entry.second, entry.first);
    if (!base.empty()) cgroup.v1_.emplace(entry.first, base + cgroup.own_path_);
  }
  return cgroup;
}

Result<void> AttemptCgroup::create_unified(std::uint32_t ranks) {
  Result<void> made = make_attempt_directory(unified_);
  if (!made.ok()) return made;
  if (unified_controls_) {
    std::vector<std::string> levels{unified_};
    if (!is_file(unified_ + "/pids.max")) {  // The first attempt; else those above have them.
      const std::string muster = above(above(unified_));
      levels = {above(muster), muster, above(unified_), unified_};
    }
    for (const std::string& level : levels) {
      for (const char* controller : {"+memory", "+cpu", "+pids"}) {
        const Result<void> enabled =
            write_small_file(level + "/cgroup.subtree_control", controller);
        if (!enabled.ok() && !single_user_) return enabled;
      }
    }
  }
  made = make_directory(unified_ + "/tasks");
  for (std::uint32_t rank = 0; rank < ranks && made.ok(); ++rank) {
    made = make_directory(unified_ + "/tasks/" + std::to_string(rank));
  }
  if (!made.ok()) return made;
  return unified_controls_ ? make_directory(unified_ + "/shepherd") : Result<void>();
}

Result<void> AttemptCgroup::limit_memory(std::uint64_t mib) const {
  const std::string bytes = std::to_string(mib << 20U);
  if (unified_controls_) {
    const std::string tasks = unified_ + "/tasks/";
    // All of a job dies together, and swap is not a way around the limit.
    (void)write_small_file(tasks + "memory.oom.group", "1").ok();
    (void)write_small_file(tasks + "memory.swap.max", "0").ok();
    return write_small_file(tasks + "memory.max", bytes);
  }
  const std::string directory = v1_directory("memory");
  Result<void> written = write_small_file(directory + "/memory.limit_in_bytes", bytes);
  const std::string with_swap = directory + "/memory.memsw.limit_in_bytes";
  if (written.ok() && is_file(with_swap)) written = write_small_file(with_swap, bytes);
  return written;
}

Result<void> AttemptCgroup::limit_cpus(std::uint32_t cpus) const {
  const std::string quota = std::to_string(std::uint64_t{cpus} * kCpuPeriodUs);
  if (unified_controls_) {
    return write_small_file(unified_ + "/tasks/cpu.max",
                            quota + " " + std::to_string(kCpuPeriodUs));
  }
  const std::string directory = v1_directory("cpu");
  const std::uint64_t shares = std::uint64_t{cpus} * 1024;
  const Result<void> shared = write_small_file(directory + "/cpu.shares", std::to_string(shares));
  if (!shared.ok()) return shared;
  return write_small_file(directory + "/cpu.cfs_quota_us", quota);
}

Result<void> AttemptCgroup::limit(const CgroupLimits& limits,
                                  std::vector<std::string>& warnings) const {
  const auto apply = [&](const char* controller, bool wanted, auto write) -> Result<void> {
    if (!wanted) return {};
    if (!unified_controls_ && v1_directory(controller).empty()) {
      warnings.push_back(std::string("no ") + controller + " limit: this machine has no such " +
                         "control group we may use");
      return {};
    }
    const Result<void> written = write();
    if (written.ok() || !single_user_) return written;
    warnings.push_back(std::string("no ") + controller + " limit: " + written.error().message);
    return {};
  };
  Result<void> done =
      apply("memory", limits.memory_mib != 0, [&] { return limit_memory(limits.memory_mib); });
  if (done.ok()) done = apply("cpu", limits.cpus != 0, [&] { return limit_cpus(limits.cpus); });
  if (!done.ok()) return done;
  return apply("pids", true, [&] {
    const std::string group = unified_controls_ ? unified_ + "/tasks" : v1_directory("pids");
    return write_small_file(group + "/pids.max", std::to_string(kPidsMax));
  });
}

Result<void> AttemptCgroup::create(const CgroupLimits& limits, std::uint32_t ranks,
                                   std::vector<std::string>& warnings) {
  if (!limits.devices) v1_.erase("devices");
  if (limits.cpu_list.empty()) v1_.erase("cpuset");
  // Readable for jobs, which look up their own limits there; our umask is tighter.
  const mode_t before = ::umask(022);
  const Result<void> made = create_groups(ranks);
  ::umask(before);
  if (!made.ok()) return made;
  if (!exists()) {
    if (!single_user_) return fail(ErrorCode::kUnavailable, "no control groups on this machine");
    warnings.emplace_back("no control groups: processes are found by their parents instead");
  }
  if (!limits.cpu_list.empty()) confine(limits.cpu_list, warnings);
  return limit(limits, warnings);
}

// Best effort: each process is bound to its CPUs besides, and the quota bounds them all.
void AttemptCgroup::confine(const std::string& cpu_list, std::vector<std::string>& warnings) {
  Result<void> done;
  if (unified_controls_) {
    const std::string muster = above(above(unified_));
    for (const std::string& level : {above(muster), muster, above(unified_), unified_}) {
      if (is_file(unified_ + "/tasks/cpuset.cpus")) break;
      (void)write_small_file(level + "/cgroup.subtree_control", "+cpuset").ok();
    }
    done = write_small_file(unified_ + "/tasks/cpuset.cpus", cpu_list);
  } else if (const std::string group = v1_directory("cpuset"); !group.empty()) {
    // On v1 a new group has none of them, and a process may enter only one that has both.
    for (const std::string& level : {above(above(group)), above(group), group}) {
      for (const char* file : {"/cpuset.mems", "/cpuset.cpus"}) {
        const Result<std::string> all = read_small_file(above(level) + file);
        const Result<std::string> own = read_small_file(level + file);
        if (all.ok() && own.ok() && *own == "\n") (void)write_small_file(level + file, *all).ok();
      }
    }
    done = write_small_file(group + "/cpuset.cpus", cpu_list);
  }
  if (!done.ok()) warnings.push_back("no cpuset: " + done.error().message);
}

Result<void> AttemptCgroup::create_groups(std::uint32_t ranks) {
  if (!unified_.empty()) {
    const Result<void> made = create_unified(ranks);
    if (!made.ok() && !single_user_) return made;
    if (!made.ok()) unified_.clear();
  }
  for (auto entry = v1_.begin(); entry != v1_.end();) {
    const Result<void> made = make_attempt_directory(entry->second);
    if (!made.ok() && !single_user_) return made;
    entry = made.ok() ? std::next(entry) : v1_.erase(entry);
  }
  return {};
}

Result<void> AttemptCgroup::enter_shepherd() {
  if (unified_.empty() || !unified_controls_) return {};
  return write_small_file(unified_ + "/shepherd/cgroup.procs", "0");
}

Fd AttemptCgroup::unified_rank(std::uint32_t local_rank) const {
  if (unified_.empty()) return Fd();
  const std::string path = unified_ + "/tasks/" + std::to_string(local_rank);
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::vector<Fd> AttemptCgroup::v1_entries() const {
  // One thread that moves itself through `tasks` spares the kernel a global lock that
  // `cgroup.procs` takes.
  std::vector<Fd> entries;
  std::set<std::string> seen;
  for (const auto& entry : v1_) {
    if (seen.insert(entry.second).second) {
      entries.emplace_back(::open((entry.second + "/tasks").c_str(), O_WRONLY | O_CLOEXEC));
    }
  }
  return entries;
}

bool AttemptCgroup::holds(std::string_view proc_cgroup, std::uint32_t local_rank) const {
  std::map<std::string, std::string> own = parse_own_cgroups(proc_cgroup);
  for (const auto& entry : v1_) {
    if (!own[entry.first].ends_with(own_path_)) return false;
  }
  return unified_.empty() || own[""].ends_with(own_path_ + "/tasks/" + std::to_string(local_rank));
}

std::string AttemptCgroup::unified_tasks() const {
  return unified_.empty() ? std::string() : unified_ + "/tasks";
}

std::string AttemptCgroup::v1_directory(const std::string& controller) const {
  const auto found = v1_.find(controller);
  return found == v1_.end() ? std::string() : found->second;
}

std::vector<pid_t> AttemptCgroup::pids() const {
  std::vector<pid_t> pids;
  if (!unified_.empty()) collect_pids(unified_ + "/tasks", pids);
  if (unified_.empty() && !v1_.empty()) collect_pids(v1_.begin()->second, pids);
  return pids;
}

void AttemptCgroup::kill_all() const {
  if (!unified_.empty() && write_small_file(unified_ + "/tasks/cgroup.kill", "1").ok()) return;
  const std::string freezer = v1_directory("freezer");
  const std::string state = freezer + "/freezer.state";
  if (!freezer.empty()) (void)write_small_file(state, "FROZEN").ok();
  for (const pid_t pid : pids()) signal_process(pid, SIGKILL);
  if (!freezer.empty()) (void)write_small_file(state, "THAWED").ok();
}

bool AttemptCgroup::is_empty() const {
  if (!unified_.empty()) {
    if (value_of(unified_ + "/tasks/cgroup.events", "populated") != 0) return false;
  }
  std::vector<pid_t> pids;
  for (const auto& entry : v1_) collect_pids(entry.second, pids);
  return pids.empty();
}

CgroupCounters AttemptCgroup::counters() const {
  CgroupCounters counters;
  if (!unified_.empty()) {
    counters.cpu_us = value_of(unified_ + "/tasks/cpu.stat", "usage_usec");
    counters.has_cpu = is_file(unified_ + "/tasks/cpu.stat");
  } else if (const std::string cpuacct = v1_directory("cpuacct"); !cpuacct.empty()) {
    const Result<std::string> text = read_small_file(cpuacct + "/cpuacct.usage");
    counters.cpu_us = text.ok() ? number_in(*text) / 1000 : 0;
    counters.has_cpu = text.ok();
  }
  const std::string memory = v1_directory("memory");
  const Result<std::string> peak = read_small_file(
      unified_controls_ ? unified_ + "/tasks/memory.peak" : memory + "/memory.max_usage_in_bytes");
  counters.memory_peak_mib = peak.ok() ? (number_in(*peak) + (1U << 20U) - 1) >> 20U : 0;
  counters.oom_kills = unified_controls_ ? value_of(unified_ + "/tasks/memory.events", "oom_kill")
                                         : value_of(memory + "/memory.oom_control", "oom_kill");
  return counters;
}

void AttemptCgroup::remove() const {
  if (!unified_.empty()) {
    if (unified_controls_) {
      // We may still stand in it ourselves.
      const std::string ended = above(unified_) + "/ended";
      if (make_directory(ended).ok()) (void)write_small_file(ended + "/cgroup.procs", "0").ok();
    }
    remove_group(unified_);
  }
  for (const auto& entry : v1_) ::rmdir(entry.second.c_str());
}

bool AttemptCgroup::remove_shared() const {
  std::vector<std::string> attempts{unified_};
  for (const auto& entry : v1_) attempts.push_back(entry.second);
  bool is_gone = true;
  for (const std::string& attempt : attempts) {
    const std::string group = above(attempt);
    ::rmdir((group + "/ended").c_str());
    is_gone = (::rmdir(group.c_str()) == 0 || errno == ENOENT) && is_gone;
  }
  return is_gone;
}

}  // namespace muster
