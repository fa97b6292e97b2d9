// Who did what, as JSON lines that cannot be changed unseen: each carries the hash of the one
// before.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

struct AuditEntry {
  std::string who;   // "kim (uid 1003) via login1".
  std::string verb;  // "node-drain", "refused", "reload", …
  std::string what;  // Objects and reason; one line.
  bool allowed = true;
};

// Thread-safe. Appends and syncs; a line is on disk when add() returns.
class Audit {
 public:
  static Result<std::unique_ptr<Audit>> open(const std::string& path);
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  // kUnavailable: it could not be written; an admin verb must then be refused.
  Result<void> add(const AuditEntry& entry);

 private:
  Audit(int fd, std::string chain, std::uint64_t number)
      : fd_(fd), chain_(std::move(chain)), number_(number) {}
  std::mutex mutex_;
  int fd_;
  std::string chain_;  // Hash of the last line, hex.
  std::uint64_t number_;
};

// Reads a whole file. kCorrupt names the first line that was changed, left out or put in.
Result<std::uint64_t> verify_audit(const std::string& path);

}  // namespace muster
