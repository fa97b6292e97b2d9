// The caller's name, from the name service.
#include "submit/cli/user.h"

#include <pwd.h>
#include <unistd.h>

#include <vector>

namespace muster {

std::string own_user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  const uid_t uid = getuid();
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return std::to_string(uid);
}

}  // namespace muster
