// Who runs this command, and other users.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

#include "base/types/result.h"

namespace muster {

// The name of the real uid, or the uid in digits when it has none.
std::string own_user_name();

struct UserIds {
  uid_t uid = 0;
  gid_t gid = 0;
};
std::optional<UserIds> find_user(const std::string& name);

// kNotFound, naming the first that nobody on this host has. Ask it when nothing was found: jobs of
// people who have left stay visible under their names.
Result<void> users_must_exist(std::span<const std::string> names);

}  // namespace muster
