// Whether an order may be obeyed on this node: signature, cluster, node, epoch, time, user.
// Everything that decides comes from local root-owned configuration and the local user database.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/order/local_protocol.h"
#include "base/order/order.h"
#include "base/order/signing.h"
#include "worker/launcher/settings.h"

namespace muster {

struct Admitted {
  CommonOrder common;
  NodeOrder node;
};

// Not thread-safe.
class Gatekeeper {
 public:
  Gatekeeper(const LauncherSettings& settings, PinnedKeys keys)
      : settings_(settings), keys_(std::move(keys)) {}

  // The text of an error is for people and begins with what was wrong. epoch is the highest seen so
  // far.
  Result<Admitted> admit(const LocalPrepare& prepare, Epoch epoch, std::int64_t now_s);
  // kUnavailable when nothing is wrong with it but the time.
  Result<GoOrder> admit(const LocalGo& go, Epoch epoch, std::int64_t now_s) const;
  void replace_keys(PinnedKeys keys) { keys_ = std::move(keys); }
  const Uuid& cluster() const { return keys_.cluster; }

 private:
  Result<void> check_common(const CommonOrder& common, Epoch epoch, std::int64_t now_s);
  Result<void> check_user(const CommonOrder& common, std::int64_t now_s);

  struct KnownUser {
    std::string name;
    std::int64_t until_s = 0;
  };
  const LauncherSettings& settings_;
  PinnedKeys keys_;
  std::map<std::uint32_t, KnownUser> users_;
};

// The file must belong to us and nobody else may write it.
Result<PinnedKeys> read_pinned_keys(const std::string& path);

}  // namespace muster
