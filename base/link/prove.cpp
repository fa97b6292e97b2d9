// The self test of a server: a stranger must be turned away by its key, not by chance.
#include <poll.h>
#include <zmq.h>

#include "base/link/link.h"
#include "base/link/native.h"

namespace muster {
namespace {

constexpr std::int64_t kProofMs = 5000;

// Where a client on this host reaches what is bound.
std::string reachable(std::string endpoint) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = endpoint.find(from);
    if (at != std::string::npos) endpoint.replace(at, from.size(), to);
  };
  replace("//0.0.0.0:", "//127.0.0.1:");
  replace("//[::]:", "//[::1]:");
  return endpoint;
}

// The first event that tells how the handshake ended; 0: none in time.
int handshake_end(link::Monitor& monitor) {
  const std::int64_t until = link::clock_ms() + kProofMs;
  while (link::clock_ms() < until) {
    while (const auto event = monitor.next()) {
      constexpr int kEnds = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                            ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
      if ((event->kind & kEnds) != 0) return event->kind;
    }
    pollfd item{monitor.fd(), POLLIN, 0};
    poll(&item, 1, 50);
  }
  return 0;
}

}  // namespace

Result<void> prove_unknown_key_refused(const std::string& endpoint,
                                       const std::string& server_public_key) {
  const LinkContext context;
  const KeyPair stranger = make_key_pair();
  void* const socket = zmq_socket(context.native(), ZMQ_DEALER);
  MUSTER_ASSERT(socket != nullptr);
  link::set_common_options(socket);
  link::set_option(socket, ZMQ_LINGER, 0);
  link::set_option(socket, ZMQ_CURVE_SERVERKEY, server_public_key);
  link::set_option(socket, ZMQ_CURVE_PUBLICKEY, stranger.public_key);
  link::set_option(socket, ZMQ_CURVE_SECRETKEY, stranger.secret_key);
  link::set_option(socket, ZMQ_IPV6, endpoint.find('[') != std::string::npos ? 1 : 0);
  int end = 0;
  {
    link::Monitor monitor(context.native(), socket,
                          ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    if (monitor.is_open() && zmq_connect(socket, reachable(endpoint).c_str()) == 0)
      end = handshake_end(monitor);
  }
  zmq_close(socket);
  if (end == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return {};
  const std::string what = "self test of " + endpoint + ": ";
  if (end == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
    return fail(ErrorCode::kUnavailable, what + "an unknown key was let in");
  }
  return fail(ErrorCode::kUnavailable, what + "no answer to an unknown key within " +
                                           std::to_string(kProofMs / 1000) + " s");
}

}  // namespace muster
