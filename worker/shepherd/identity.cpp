// setgroups, setresgid, setresuid and what must hold afterwards.
#include "worker/shepherd/identity.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/order/small_file.h"

namespace muster {
namespace {

constexpr rlim_t kFilesMin = 131072;

Result<void> verify(const Identity& identity) {
  uid_t real = 0, effective = 0, saved = 0;
  if (::getresuid(&real, &effective, &saved) != 0 || real != identity.uid ||
      effective != identity.uid || saved != identity.uid) {
    return fail(ErrorCode::kUnavailable, "identity: the uid is not as ordered");
  }
  if (::getresgid(&real, &effective, &saved) != 0 || real != identity.gid ||
      effective != identity.gid || saved != identity.gid) {
    return fail(ErrorCode::kUnavailable, "identity: the gid is not as ordered");
  }
  std::vector<gid_t> groups(identity.groups.size() + 1);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  if (count < 0) return failed("getgroups");
  groups.resize(static_cast<std::size_t>(count));
  std::vector<gid_t> wanted(identity.groups.begin(), identity.groups.end());
  std::sort(groups.begin(), groups.end());
  std::sort(wanted.begin(), wanted.end());
  if (groups != wanted) return fail(ErrorCode::kUnavailable, "identity: groups not as ordered");
  if (identity.uid != 0 && (::setresuid(0, 0, 0) == 0 || ::setuid(0) == 0 || ::setgid(0) == 0)) {
    // A group of 0 that the order gave is the one way setgid(0) may succeed.
    if (::getuid() == 0 || identity.gid != 0) {
      return fail(ErrorCode::kUnavailable, "identity: root could be taken back");
    }
  }
  return {};
}

Result<void> drop_capabilities() {
  int capability = 0;  // Up to the first number the kernel does not know.
  while (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) ++capability;
  if (capability == 0 || errno != EINVAL) return failed("drop capability");
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return failed("ambient");
  return {};
}

Result<void> empty_capability_sets() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return failed("capset");
  return {};
}

void set_limit(int resource, rlim_t wanted, const char* name, std::vector<std::string>& capped) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  if (limit.rlim_cur >= wanted) return;
  rlimit raised{wanted, std::max(limit.rlim_max, wanted)};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &raised) == 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  capped.push_back(std::string(name) + " is capped at " + std::to_string(limit.rlim_max));
}

}  // namespace

Result<void> become(const Identity& identity, bool no_new_privileges) {
  const Result<void> dropped = drop_capabilities();
  if (!dropped.ok()) return dropped;
  std::vector<gid_t> groups(identity.groups.begin(), identity.groups.end());
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (::setgroups(groups.size(), groups.data()) != 0) return failed("setgroups");
  if (::setresgid(identity.gid, identity.gid, identity.gid) != 0) return failed("setresgid");
  if (::setresuid(identity.uid, identity.uid, identity.uid) != 0) return failed("setresuid");
  const Result<void> emptied = empty_capability_sets();
  if (!emptied.ok()) return emptied;
  if (no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed("no_new_privs");
  }
  Identity expected = identity;
  expected.groups.assign(groups.begin(), groups.end());
  return verify(expected);
}

Result<void> set_resource_limits(std::vector<std::string>& capped) {
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) != 0) return failed("getrlimit");
  core.rlim_cur = 0;
  if (::setrlimit(RLIMIT_CORE, &core) != 0) return failed("setrlimit core");
  set_limit(RLIMIT_MEMLOCK, RLIM_INFINITY, "memlock", capped);
  set_limit(RLIMIT_STACK, RLIM_INFINITY, "stack", capped);
  set_limit(RLIMIT_NOFILE, kFilesMin, "nofile", capped);
  return {};
}

}  // namespace muster
