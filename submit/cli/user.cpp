// Users, from the name service.
#include "submit/cli/user.h"

#include <pwd.h>
#include <unistd.h>

#include <vector>

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

}  // namespace muster
