// Who runs this command, and other users.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace muster {

// The name of the real uid, or the uid in digits when it has none.
std::string own_user_name();

struct UserIds {
  uid_t uid = 0;
  gid_t gid = 0;
};
std::optional<UserIds> find_user(const std::string& name);

}  // namespace muster
