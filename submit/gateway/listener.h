// The gateway's socket: made, guarded against a second gateway, and accepted from with the caller's
// identity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/daemon/daemon.h"
#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

// Who is at the other end, by the kernel, at the time of connect. Never what a client says.
struct Credentials {
  Uid uid;
  Gid gid;
  std::int32_t pid = 0;
};

struct Accepted {
  int fd = -1;                                              // Non-blocking; the caller's.
  Result<Credentials> who = fail(ErrorCode::kInvalid, "");  // Or why it is refused.
};

class Listener {
 public:
  // kInvalid: the path is too long or its directory is missing or unfit. kConflict: another gateway
  // serves it. A dead one's socket is replaced. mode is the socket's (0666: any local user, 0600:
  // only ours).
  static Result<Listener> open(const std::string& path, std::uint32_t mode);
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;

  int fd() const { return fd_; }
  // The next caller; nothing when there is none. kLimit: out of descriptors.
  Result<std::optional<Accepted>> accept_one();

 private:
  Listener(std::string path, int fd, PidFile lock)
      : path_(std::move(path)), fd_(fd), lock_(std::move(lock)) {}
  std::string path_;
  int fd_;
  PidFile lock_;
};

// The identity behind a connected socket. kInvalid: the overflow uid (an unmapped user of some
// namespace), or none.
Result<Credentials> peer_credentials(int fd);
// The decision alone. overflow_uid is the kernel's (/proc/sys/kernel/overflowuid); 65534 is refused
// in any case.
Result<void> check_uid(Uid uid, Uid overflow_uid);

}  // namespace muster
