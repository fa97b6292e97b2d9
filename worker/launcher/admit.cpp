// The checks between a worker's frame and a root process.
#include "worker/launcher/admit.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

#include <vector>

#include "base/order/fd.h"
#include "base/order/small_file.h"

namespace muster {
namespace {

constexpr std::int64_t kUserKnownSeconds = 60;
constexpr std::size_t kUsersKnownMax = 4096;
constexpr std::uint32_t kOverflowUid = 65534;
constexpr std::size_t kKeysBytesMax = 16U << 10U;

Error refused(const std::string& why) { return fail(ErrorCode::kInvalid, "order refused: " + why); }

Result<void> check_blob(const char* what, const std::string& bytes, std::uint32_t size,
                        const Hash256& hash) {
  if (bytes.size() == size && content_hash(bytes) == hash) return {};
  return refused(std::string(what) + " is not the one that was signed");
}

}  // namespace

Result<Admitted> Gatekeeper::admit(const LocalPrepare& prepare, Epoch epoch, std::int64_t now_s) {
  Result<void> sound =
      verify_order(keys_, OrderKind::kCommon, prepare.common, prepare.common_signature);
  if (sound.ok()) {
    sound = verify_order(keys_, OrderKind::kNode, prepare.node, prepare.node_signature);
  }
  if (!sound.ok()) return sound.error();
  Result<CommonOrder> common = decode_common_order(prepare.common);
  if (!common.ok()) return common.error();
  Result<NodeOrder> node = decode_node_order(prepare.node);
  if (!node.ok()) return node.error();
  if (node->common_hash != content_hash(prepare.common)) {
    return refused("its two parts do not belong together");
  }
  if (common->attempt != prepare.key || node->attempt != prepare.key) {
    return refused("it is for another attempt");
  }
  if (node->member >= common->members.size() ||
      common->members[node->member].node != settings_.node || node->node != settings_.node) {
    return refused("it is for node " + node->node + ", this is " + settings_.node);
  }
  sound = check_common(*common, epoch, now_s);
  if (sound.ok()) {
    sound = check_blob("script", prepare.script, common->script_size, common->script_hash);
  }
  if (sound.ok()) {
    sound = check_blob("environment", prepare.environment, common->environment_size,
                       common->environment_hash);
  }
  if (!sound.ok()) return sound.error();
  return Admitted{std::move(*common), std::move(*node)};
}

Result<void> Gatekeeper::check_common(const CommonOrder& common, Epoch epoch, std::int64_t now_s) {
  if (common.cluster != keys_.cluster)
    return refused("it is of cluster " + to_text(common.cluster));
  if (common.epoch < epoch) {
    return refused("its epoch " + std::to_string(common.epoch.value) + " is over; " +
                   std::to_string(epoch.value) + " has begun");
  }
  const Result<void> in_time = check_order_time(common.not_before_s, common.expiry_s, now_s);
  if (!in_time.ok()) return in_time;
  return check_user(common, now_s);
}

Result<void> Gatekeeper::check_user(const CommonOrder& common, std::int64_t now_s) {
  const std::uint32_t uid = common.uid.value;
  const std::string who = "user " + common.user + " (uid " + std::to_string(uid) + ")";
  if (settings_.single_user && uid != ::geteuid()) {
    return refused(who + ": in single-user mode jobs run as uid " + std::to_string(::geteuid()));
  }
  const bool is_root_allowed = uid == 0 && settings_.allow_root_jobs;
  const bool is_low = uid < settings_.uid_min || uid == kOverflowUid;
  if (!settings_.single_user && is_low && !is_root_allowed) {
    return refused(who + ": uids below " + std::to_string(settings_.uid_min) + " run no jobs here");
  }
  const auto known = users_.find(uid);
  if (known != users_.end() && known->second.until_s > now_s && known->second.name == common.user) {
    return {};
  }
  if (users_.size() >= kUsersKnownMax) users_.clear();
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return refused(who + " is not known on this node");
  if (common.user != entry.pw_name) {
    return refused(who + ": on this node that uid is " + std::string(entry.pw_name));
  }
  users_[uid] = {common.user, now_s + kUserKnownSeconds};
  return {};
}

Result<GoOrder> Gatekeeper::admit(const LocalGo& go, Epoch epoch, std::int64_t now_s) const {
  const Result<void> verified = verify_order(keys_, OrderKind::kGo, go.go, go.signature);
  if (!verified.ok()) return verified.error();
  Result<GoOrder> order = decode_go_order(go.go);
  if (!order.ok()) return order;
  if (order->cluster != keys_.cluster) return refused("go is of another cluster");
  if (order->attempt != go.key) return refused("go is for another attempt");
  if (order->epoch < epoch) return refused("the epoch of its go is over");
  const Result<void> in_time = check_order_time(now_s, order->expiry_s, now_s);
  if (!in_time.ok()) return fail(ErrorCode::kUnavailable, in_time.error().message);
  return order;
}

Result<PinnedKeys> read_pinned_keys(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file.is_open() || ::fstat(file.number(), &facts) != 0) return failed(path);
  const bool is_ours = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  if (!is_ours || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::kInvalid,
                path + ": must belong to this user and be writable by no other");
  }
  const Result<std::string> text = read_file(file.number(), kKeysBytesMax);
  if (!text.ok()) return fail(text.error().code, path + ": " + text.error().message);
  Result<PinnedKeys> keys = parse_pinned_keys(*text);
  if (!keys.ok()) return fail(keys.error().code, path + ": " + keys.error().message);
  return keys;
}

}  // namespace muster
