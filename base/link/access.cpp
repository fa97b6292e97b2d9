// The list of keys: who may speak on which port.
#include "base/link/access.h"

#include "base/types/result.h"

namespace muster {
namespace {

constexpr std::size_t kUserIdBytesMax = 128;

bool admits(LinkRole role, LinkRole domain) {
  return role == domain || (role == LinkRole::kWorker && domain == LinkRole::kBulk);
}

}  // namespace

void AccessList::add(const std::string& public_key, AccessEntry entry) {
  MUSTER_ASSERT(!entry.user_id.empty() && entry.user_id.size() <= kUserIdBytesMax);
  MUSTER_ASSERT(entry.user_id.find(' ') == std::string::npos);
  const std::lock_guard lock(mutex_);
  entries_[public_key] = std::move(entry);
  version_.fetch_add(1, std::memory_order_release);
}

void AccessList::remove(const std::string& public_key) {
  const std::lock_guard lock(mutex_);
  if (entries_.erase(public_key) != 0) version_.fetch_add(1, std::memory_order_release);
}

void AccessList::remove_user(std::string_view user_id) {
  const std::lock_guard lock(mutex_);
  const auto removed =
      std::erase_if(entries_, [&](const auto& item) { return item.second.user_id == user_id; });
  if (removed != 0) version_.fetch_add(1, std::memory_order_release);
}

std::optional<AccessEntry> AccessList::admit(const std::string& public_key, LinkRole domain) const {
  if (domain == LinkRole::kEnrol) return AccessEntry{"enrol:" + public_key, LinkRole::kEnrol};
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(public_key);
  if (found == entries_.end() || !admits(found->second.role, domain)) return std::nullopt;
  return found->second;
}

std::vector<std::string> AccessList::keys_of(std::string_view user_id) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) {
    if (entry.user_id == user_id) keys.push_back(key);
  }
  return keys;
}

}  // namespace muster
