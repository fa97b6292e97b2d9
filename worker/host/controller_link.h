// The connection to the controller: socket below, session above, messages in and out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/link/link.h"
#include "base/message/worker.h"
#include "base/session/session.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

class ControllerLink {
 public:
  static Result<std::unique_ptr<ControllerLink>> open(LinkContext& context,
                                                      const ClientOptions& options,
                                                      std::uint64_t incarnation);

  // What came since the last call, at most kMessagesAtOnce. `met` precedes the messages: the
  // controller knows nothing of what was said before.
  struct News {
    bool met = false;
    std::vector<ControllerMessage> messages;
  };
  News receive();

  // Dropped while no controller is known. When the queue overflows, what is missing is made up for
  // by a later `met`.
  void send(const WorkerMessage& message);
  // Puts on the wire what is ready. Call after receive() and send(), and at wake_at().
  void flush(Instant now);

  bool is_up() const { return socket_->connected(); }
  // Heartbeats are only worth sending when what was said before has arrived.
  bool is_idle() const { return session_.is_idle(); }
  int fd() const { return socket_->fd(); }
  bool has_input() { return socket_->has_input(); }
  bool wants_tick() const { return socket_->wants_tick(); }
  void tick() { socket_->tick(); }
  std::optional<Instant> wake_at() const { return session_.wake_at(); }

 private:
  ControllerLink(std::unique_ptr<ClientSocket> socket, std::string endpoint,
                 std::uint64_t incarnation);
  void follow_connection();

  std::unique_ptr<ClientSocket> socket_;
  std::string endpoint_;
  Session session_;
  std::uint64_t connection_ = 0;  // Of the socket, when last looked at.
  bool was_up_ = false;
  bool resync_owed_ = false;
};

}  // namespace muster
