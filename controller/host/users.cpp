// Name service look-ups with a small cache.
#include "controller/host/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "base/types/text.h"
#include "controller/host/clock.h"

namespace muster {

namespace {

constexpr std::size_t kEntryBytes = 64U << 10U;

std::string group_name(gid_t gid) {
  std::vector<char> buffer(kEntryBytes);
  group entry{};
  group* found = nullptr;
  if (getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return {};
  return found->gr_name;
}

void read_groups(User& user) {
  int count = 64;
  std::vector<gid_t> gids(static_cast<std::size_t>(count));
  if (getgrouplist(user.name.c_str(), user.gid.value, gids.data(), &count) < 0) {
    gids.resize(static_cast<std::size_t>(count));
    if (getgrouplist(user.name.c_str(), user.gid.value, gids.data(), &count) < 0) count = 0;
  }
  gids.resize(static_cast<std::size_t>(count));
  for (const gid_t gid : gids) {
    if (gid != user.gid.value) user.groups.push_back(Gid{gid});
    const std::string name = group_name(gid);
    if (!name.empty()) user.group_names.push_back(name);
  }
}

Result<User> look_up(Uid uid) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  const int problem = getpwuid_r(uid.value, &entry, buffer.data(), buffer.size(), &found);
  if (problem != 0) {
    return fail(ErrorCode::kUnavailable,
                "the name service did not answer for uid " + std::to_string(uid.value));
  }
  if (found == nullptr) {
    return fail(ErrorCode::kNotFound,
                "uid " + std::to_string(uid.value) +
                    " has no name on the controller's host; ask an administrator to add the user");
  }
  User user{uid, Gid{found->pw_gid}, found->pw_name, found->pw_dir, found->pw_shell, {}, {}};
  read_groups(user);
  return user;
}

bool holds(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool holds_any(const std::vector<std::string>& list, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return holds(list, name); });
}

}  // namespace

Result<User> Users::find(Uid uid) {
  const std::int64_t now = boottime_us();
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(uid);
    if (kept != kept_.end() && kept->second.until_us > now) return kept->second.user;
  }
  auto user = look_up(uid);
  if (!user) return user;
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kUsersCachedMax) kept_.clear();
  kept_[uid] = {*user, now + kUserCached.us};
  return user;
}

Result<Uid> Users::uid_of(const std::string& name) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0)
    return fail(ErrorCode::kUnavailable, "the name service did not answer for user " + name);
  if (found != nullptr) return Uid{found->pw_uid};
  return fail(ErrorCode::kNotFound,
              "there is no user " + escape_for_terminal(name) + " on the controller's host");
}

Result<void> Users::check_known(const std::string& name) {
  const Result<Uid> uid = uid_of(name);
  return uid ? Result<void>() : Result<void>(uid.error());
}

Role role_of(const User& user, const HostConfig::Roles& roles, bool admin_host) {
  const bool is_admin = user.uid.value == 0 || holds(roles.admins, user.name) ||
                        holds_any(roles.admin_groups, user.group_names);
  if (is_admin && admin_host) return Role::kAdmin;
  if (holds(roles.operators, user.name) || holds_any(roles.operator_groups, user.group_names))
    return Role::kOperator;
  return Role::kUser;
}

}  // namespace muster
