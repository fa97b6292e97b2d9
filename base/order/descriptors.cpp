// sendmsg and recvmsg with SCM_RIGHTS and SCM_CREDENTIALS.
#include "base/order/descriptors.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/types/result.h"

namespace muster {
namespace {

constexpr std::size_t kControlBytes =
    CMSG_SPACE(kDescriptorsAtOnce * sizeof(int)) + CMSG_SPACE(sizeof(ucred));

}  // namespace

ssize_t send_message(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  MUSTER_ASSERT(descriptors.size() <= kDescriptorsAtOnce);
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[kControlBytes];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    std::memset(control, 0, message.msg_controllen);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ReceivedMessage receive_message(int socket, char* buffer, std::size_t size, int flags) {
  ReceivedMessage received;
  iovec part{buffer, size};
  alignas(cmsghdr) char control[kControlBytes];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  do {
    received.size = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (received.size < 0 && errno == EINTR);
  if (received.size < 0) return received;
  received.is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET) continue;
    if (one->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(one), sizeof(sender));
      received.sender = sender.pid;
    }
    const bool has_descriptors = one->cmsg_type == SCM_RIGHTS;
    const std::size_t count = has_descriptors ? (one->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(one) + i * sizeof(int), sizeof(int));
      received.descriptors.emplace_back(number);
    }
  }
  return received;
}

}  // namespace muster
