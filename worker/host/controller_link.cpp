// Session over socket.
#include "worker/host/controller_link.h"

#include <utility>

#include "base/daemon/log.h"
#include "base/message/codec.h"

namespace muster {
namespace {

constexpr int kPacketsAtOnce = 512;

}  // namespace

Result<std::unique_ptr<ControllerLink>> ControllerLink::open(LinkContext& context,
                                                             const ClientOptions& options,
                                                             std::uint64_t incarnation) {
  Result<std::unique_ptr<ClientSocket>> socket = ClientSocket::open(context, options);
  if (!socket) return socket.error();
  return std::unique_ptr<ControllerLink>(
      new ControllerLink(*std::move(socket), options.endpoint, incarnation));
}

ControllerLink::ControllerLink(std::unique_ptr<ClientSocket> socket, std::string endpoint,
                               std::uint64_t incarnation)
    : socket_(std::move(socket)), endpoint_(std::move(endpoint)), session_(incarnation) {}

void ControllerLink::follow_connection() {
  if (socket_->incarnation() != connection_) {
    connection_ = socket_->incarnation();
    session_.reconnect();
  }
  if (socket_->connected() == was_up_) return;
  was_up_ = socket_->connected();
  if (was_up_) {
    log_info("controller: connected to {}", endpoint_);
  } else {
    log_warn("controller: connection to {} lost {}", endpoint_, socket_->last_problem());
  }
}

ControllerLink::News ControllerLink::receive() {
  News news;
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    const std::optional<std::string> packet = socket_->receive();
    follow_connection();
    if (!packet) break;
    Result<Received> received = session_.receive(*packet);
    if (!received) {
      log_warn("controller: packet ignored: {}", received.error().message);
      continue;
    }
    if (received->fresh) {
      news = News{true, {}};  // What an earlier incarnation still said does not count any more.
      resync_owed_ = false;
    }
    for (const std::string& payload : received->payloads) {
      Result<ControllerMessage> message = decode<ControllerMessage>(payload);
      if (message) {
        news.messages.push_back(*std::move(message));
      } else {
        log_error("controller: message ignored: {}", message.error().message);
      }
    }
  }
  if (resync_owed_ && session_.is_idle() && session_.knows_peer()) {
    resync_owed_ = false;
    news.met = true;
  }
  return news;
}

void ControllerLink::send(const WorkerMessage& message) {
  if (!session_.knows_peer() || resync_owed_) return;
  const Result<void> sent = session_.send(encode(message));
  if (sent) return;
  log_warn("controller: {}; everything is told again when it listens", sent.error().message);
  resync_owed_ = true;
}

void ControllerLink::flush(Instant now) {
  follow_connection();
  if (!socket_->connected()) return;
  for (const std::string& packet : session_.take_outgoing(now)) {
    if (!socket_->send(packet)) return;  // The session repeats it.
  }
}

}  // namespace muster
