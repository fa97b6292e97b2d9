// A hash chain over JSON lines.
#include "controller/host/audit.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/message/json.h"
#include "base/types/ids.h"
#include "controller/host/clock.h"

namespace muster {

namespace {

constexpr std::string_view kChainStart =
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kHashField = ",\"hash\":\"";
constexpr std::size_t kHashText = 64;

std::string hash_of(std::string_view chain, std::string_view line) {
  std::uint8_t digest[32];
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, sizeof digest);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(chain.data()),
                            chain.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(line.data()),
                            line.size());
  crypto_generichash_final(&state, digest, sizeof digest);
  return hex(digest, sizeof digest);
}

struct Line {
  std::uint64_t number = 0;
  WallTime at;
  std::string who;
  std::string verb;
  std::string what;
  bool allowed = true;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "number", self.number);
    visit(2, "at", self.at);
    visit(3, "who", self.who);
    visit(4, "verb", self.verb);
    visit(5, "what", self.what);
    visit(6, "allowed", self.allowed);
  }
};

// {"number":…,"hash":"…"}: the hash covers everything before its own field.
std::string finish_line(const std::string& body, const std::string& hash) {
  return body + std::string(kHashField) + hash + "\"}\n";
}

struct Chain {
  std::string hash{kChainStart};
  std::uint64_t lines = 0;
};

Result<Chain> read_chain(const std::string& path) {
  Chain chain;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::string where = path + ":" + std::to_string(chain.lines + 1) + ": ";
    const std::size_t tail = kHashField.size() + kHashText + 2;
    if (line.size() < tail ||
        line.compare(line.size() - tail, kHashField.size(), kHashField) != 0) {
      return fail(ErrorCode::kCorrupt, where + "not an audit line");
    }
    const std::string body = line.substr(0, line.size() - tail);
    const std::string stated = line.substr(line.size() - kHashText - 2, kHashText);
    const std::string prefix = "{\"number\":" + std::to_string(chain.lines + 1) + ",";
    if (!body.starts_with(prefix) || hash_of(chain.hash, body) != stated) {
      return fail(ErrorCode::kCorrupt,
                  where + "changed, or a line before it was changed, removed or added");
    }
    chain.hash = stated;
    ++chain.lines;
  }
  return chain;
}

}  // namespace

Result<std::unique_ptr<Audit>> Audit::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return fail(ErrorCode::kUnavailable,
                "audit file " + path + " cannot be opened: " + std::strerror(errno));
  }
  auto chain = read_chain(path);
  if (!chain) {
    ::close(fd);
    return fail(ErrorCode::kCorrupt,
                chain.error().message + "; move the file away to begin a new one");
  }
  return std::unique_ptr<Audit>(new Audit(fd, std::move(chain->hash), chain->lines));
}

Audit::~Audit() { ::close(fd_); }

Result<void> Audit::add(const AuditEntry& entry) {
  const std::lock_guard lock(mutex_);
  Line line{number_ + 1, wall_now(), entry.who, entry.verb, entry.what, entry.allowed};
  std::string body = to_json(line);
  body.pop_back();  // The closing brace comes after the hash.
  const std::string hash = hash_of(chain_, body);
  const std::string text = finish_line(body, hash);
  const ssize_t written = ::write(fd_, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || fdatasync(fd_) != 0) {
    return fail(ErrorCode::kUnavailable,
                std::string("the audit file cannot be written: ") + std::strerror(errno));
  }
  chain_ = hash;
  ++number_;
  return {};
}

Result<std::uint64_t> verify_audit(const std::string& path) {
  auto chain = read_chain(path);
  if (!chain) return chain.error();
  return chain->lines;
}

}  // namespace muster
