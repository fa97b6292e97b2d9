// Who may speak on which port: public keys with the identity and the role they stand for. Default
// deny.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/fields.h"

namespace muster {

// Role of a key, and domain (port) of a server socket.
enum class LinkRole : std::uint8_t { kWorker, kGateway, kBulk, kEnrol };
template <>
struct EnumNames<LinkRole> {
  static constexpr std::array<std::string_view, 4> kNames{"worker", "gateway", "bulk", "enrol"};
};

struct AccessEntry {
  std::string user_id;  // "node:n1", "gateway:login1": at most 128 bytes, no space.
  LinkRole role = LinkRole::kWorker;
};

// Thread-safe. Changes take effect for new connections at once, and for standing ones with their
// next message: frames of a removed key are dropped and its connection is cut.
class AccessList {
 public:
  // Replaces what the key stood for. Several keys may stand for one user id (rotation).
  void add(const std::string& public_key, AccessEntry entry);
  void remove(const std::string& public_key);
  void remove_user(std::string_view user_id);  // All its keys.

  // Whom the key stands for on a port of that domain; nothing: refused. A worker's key is also good
  // for the bulk domain. The enrol domain admits every key, as "enrol:<key>".
  std::optional<AccessEntry> admit(const std::string& public_key, LinkRole domain) const;

  std::vector<std::string> keys_of(std::string_view user_id) const;
  std::uint64_t version() const {
    return version_.load(std::memory_order_acquire);
  }  // Rises with every change.

 private:
  mutable std::mutex mutex_;
  std::map<std::string, AccessEntry> entries_;
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace muster
