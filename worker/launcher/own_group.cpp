// The control group below which a launcher makes those of its jobs, where cgroup v2 is alone and
// systemd mounts it.
#include "worker/launcher/launcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/order/small_file.h"

namespace muster {

Result<std::string> Launcher::settle(const LauncherSettings& settings) {
  const std::string tree = "/sys/fs/cgroup";
  const std::string leaf = "/launcher";
  const Result<std::string> controllers = read_small_file(tree + "/cgroup.controllers");
  const Result<std::string> line = read_small_file("/proc/self/cgroup");
  const bool is_v2_alone = controllers.ok() && line.ok() && line->compare(0, 4, "0::/") == 0 &&
                           controllers->find("memory") != std::string::npos;
  if (settings.single_user || !is_v2_alone) return std::string();
  if (!settings.cgroup.empty()) {
    if (::access((tree + settings.cgroup + "/cgroup.events").c_str(), F_OK) == 0)
      return settings.cgroup;
    return fail(ErrorCode::kInvalid, "--cgroup: there is no " + tree + settings.cgroup);
  }
  const std::string own = line->substr(3, line->find('\n') - 3);
  if (own == "/") return std::string();
  const std::string above = own.substr(0, own.rfind('/'));
  if (own == above + leaf) return above;
  const std::string group = tree + own;
  ::mkdir((group + leaf).c_str(), 0755);
  if (write_small_file(group + leaf + "/cgroup.procs", "0").ok() &&
      write_small_file(group + "/cgroup.subtree_control", "+memory +cpu +pids").ok()) {
    return own;
  }
  // Others live here too: a login's session, say.
  (void)write_small_file(group + "/cgroup.procs", "0").ok();
  ::rmdir((group + leaf).c_str());
  return std::string();
}

}  // namespace muster
