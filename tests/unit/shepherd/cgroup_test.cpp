// Reading how control groups are mounted, and which devices a filter lets through.
#include "worker/shepherd/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "worker/shepherd/device_filter.h"
#include "worker/shepherd/shepherd.h"

namespace muster {
namespace {

TEST(CgroupMounts, UnifiedOnly) {
  const CgroupMounts mounts = parse_cgroup_mounts(
      "25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "29 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(mounts.unified, "/sys/fs/cgroup");
  EXPECT_TRUE(mounts.v1.empty());
}

TEST(CgroupMounts, HybridWithControllersMountedTogether) {
  const CgroupMounts mounts = parse_cgroup_mounts(
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "33 31 0:30 / /sys/fs/cgroup/memory rw shared:4 - cgroup cgroup rw,memory\n"
      "34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(mounts.unified, "/sys/fs/cgroup/unified");
  EXPECT_EQ(mounts.v1.size(), 3U);
  EXPECT_EQ(mounts.v1.at("cpu"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts.v1.at("memory"), "/sys/fs/cgroup/memory");
}

TEST(CgroupMounts, NothingOfUseIsNothing) {
  EXPECT_TRUE(parse_cgroup_mounts("").v1.empty());
  EXPECT_TRUE(parse_cgroup_mounts("1 2 3\n- - - -\n\n").unified.empty());
  EXPECT_TRUE(parse_cgroup_mounts("1 2 3 / /x rw - cgroup2").unified.empty());
}

TEST(OwnCgroups, BothKinds) {
  const auto own = parse_own_cgroups("9:name=systemd:/\n4:cpu,cpuacct:/a/b\n0::/user.slice/x:y\n");
  EXPECT_EQ(own.at("cpuacct"), "/a/b");
  EXPECT_EQ(own.at(""), "/user.slice/x:y");
  EXPECT_TRUE(parse_own_cgroups("garbage\n:\n").empty());
}

TEST(DeviceRules, GrantedAndBasicOnes) {
  const auto rules = device_rules({{"GPU-1", 0, 0, "/dev/full"}, {"GPU-2", 1, 1, ""}});
  ASSERT_TRUE(rules.ok());
  const auto allows = [&](std::uint32_t major, std::uint32_t minor) {
    return std::any_of(rules->begin(), rules->end(), [&](const DeviceRule& rule) {
      return rule.major == major && (rule.minor == minor || rule.minor == DeviceRule::kAnyMinor);
    });
  };
  EXPECT_TRUE(allows(1, 3));
  EXPECT_TRUE(allows(1, 7));
  EXPECT_TRUE(allows(136, 40));
  EXPECT_FALSE(allows(1, 1));  // /dev/mem
  EXPECT_FALSE(allows(195, 0));
  EXPECT_FALSE(device_rules({{"GPU-1", 0, 0, "/dev/no-such"}}).ok());
  EXPECT_FALSE(device_rules({{"GPU-1", 0, 0, "/etc/passwd"}}).ok());
}

TEST(Facts, OfThisProcess) {
  EXPECT_GT(process_start_time(::getpid()), 0U);
  EXPECT_EQ(process_start_time(0x3fffffff), 0U);
  EXPECT_EQ(boot_id().size(), 36U);
  EXPECT_GT(boottime_us(), 0);
}

}  // namespace
}  // namespace muster
