// One connection of the local protocol: frames in, frames out, with file descriptors. Never blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/order/fd.h"
#include "base/order/local_protocol.h"
#include "base/types/result.h"

namespace muster {

constexpr std::size_t kLocalQueueBytesMax = 64U << 20U;  // Of frames the peer does not take.

struct ReceivedFrame {
  LocalFrame frame;
  Fd fd;  // Open when frame.has_fd.
};

// Not thread-safe. After any error the connection is over.
class LocalChannel {
 public:
  // Takes a connected stream socket.
  explicit LocalChannel(Fd socket);

  int fd() const { return socket_.number(); }
  // Sends what the peer takes now and keeps the rest: poll for writing while wants_write().
  // attached travels with the frame, whose encoding must have marked it. kLimit when the peer lets
  // too much pile up.
  Result<void> send(std::string frame, Fd attached = Fd());
  Result<void> flush();
  bool wants_write() const { return !queue_.empty(); }
  // Every whole frame that is there, at most kFramesAtOnce. kUnavailable when the peer is gone
  // (after the frames it sent), kCorrupt when it does not keep to the protocol.
  Result<std::vector<ReceivedFrame>> receive();

  static constexpr std::size_t kFramesAtOnce = 1024;

 private:
  struct Outgoing {
    std::string bytes;
    std::size_t sent = 0;
    Fd attached;
  };
  Result<bool> read_some();
  Result<void> cut_frames(std::vector<ReceivedFrame>& frames);

  Fd socket_;
  std::deque<Outgoing> queue_;
  std::size_t queue_bytes_ = 0;
  std::string input_;
  std::deque<Fd> input_fds_;
};

// Connected stream sockets, kUnavailable with the reason otherwise. The path's length is checked.
Result<Fd> connect_local(const std::string& path);
// Listens with the given mode of the socket's file; what lay there before is replaced.
Result<Fd> listen_local(const std::string& path, unsigned mode);

struct LocalPeer {
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
};
Result<LocalPeer> peer_of(int socket);  // From the kernel, as of connect.

}  // namespace muster
