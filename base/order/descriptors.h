// One message over a Unix socket, with the descriptors that travel along.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/order/fd.h"

namespace muster {

constexpr std::size_t kDescriptorsAtOnce = 128;

// As sendmsg(2): bytes taken, or -1 and errno. Never raises SIGPIPE. At most kDescriptorsAtOnce.
ssize_t send_message(int socket, std::string_view bytes, const std::vector<int>& descriptors);

struct ReceivedMessage {
  ssize_t size = -1;  // As of recvmsg(2), with its errno.
  std::vector<Fd> descriptors;
  pid_t sender = 0;  // Where the socket has SO_PASSCRED.
  bool is_cut = false;
};
// flags: of recvmsg(2).
ReceivedMessage receive_message(int socket, char* buffer, std::size_t size, int flags);

}  // namespace muster
