// Who a uid is on this host, by the system's name service: the only source of names, groups and
// roles. Never on the engine's thread: a directory server may take seconds.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/types/ids.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "controller/core/command.h"
#include "controller/host/config_file.h"

namespace muster {

constexpr Duration kUserCached = seconds(60);
constexpr std::size_t kUsersCachedMax = 100000;

struct User {
  Uid uid;
  Gid gid;
  std::string name;
  std::string home;
  std::string shell;
  std::vector<Gid> groups;               // Supplementary, without gid.
  std::vector<std::string> group_names;  // Of all of them.
};

// Thread-safe. Answers are kept for kUserCached; a failed look-up is not.
class Users {
 public:
  Result<User> find(Uid uid);
  // kNotFound when the system knows no user of that name.
  static Result<void> check_known(const std::string& name);
  static Result<Uid> uid_of(const std::string& name);  // The same.

 private:
  struct Kept {
    User user;
    std::int64_t until_us = 0;
  };
  std::mutex mutex_;
  std::map<Uid, Kept> kept_;
};

// root is an administrator on the controller's own host only: `admin_host` says whether the gateway
// is one that administrators may come through.
Role role_of(const User& user, const HostConfig::Roles& roles, bool admin_host);

}  // namespace muster
