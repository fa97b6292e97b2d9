// Users, from the name service.
#include "submit/cli/user.h"

#include <pwd.h>
#include <unistd.h>

#include <vector>

#include "base/types/text.h"

namespace muster {

namespace {

constexpr std::size_t kEntryBytes = 16384;

}  // namespace

std::string own_user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kEntryBytes);
  const uid_t uid = getuid();
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return std::to_string(uid);
}

std::optional<UserIds> find_user(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kEntryBytes);
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0) return {};
  if (found == nullptr) return {};
  return UserIds{found->pw_uid, found->pw_gid};
}

Result<void> users_must_exist(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const bool is_uid = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_uid || find_user(name).has_value()) continue;
    return fail(ErrorCode::kNotFound, "--user: there is no user " + escape_for_terminal(name) +
                                          " on this host; look the name up with: getent passwd");
  }
  return {};
}

}  // namespace muster
