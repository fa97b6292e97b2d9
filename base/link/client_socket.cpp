// The DEALER with a pinned server key.
#include <sodium.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/link/chunk.h"
#include "base/link/link.h"
#include "base/link/native.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::int64_t kSilentMs = 15000;  // Without any event from libzmq: start afresh.

struct Outgoing {
  std::string payload;
  std::uint32_t id = 0;
  std::size_t part_next = 0;
};

// False: the queue is full for now.
bool send_part(void* socket, const Outgoing& out, std::string_view payload) {
  zmq_msg_t message;
  MUSTER_ASSERT(zmq_msg_init_size(&message, part_bytes(payload.size(), out.part_next)) == 0);
  write_part(payload, out.id, out.part_next, static_cast<char*>(zmq_msg_data(&message)));
  while (zmq_msg_send(&message, socket, ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() == EINTR) continue;
    zmq_msg_close(&message);
    return false;
  }
  return true;
}

}  // namespace

struct ClientSocket::Impl {
  void* context = nullptr;
  ClientOptions options;
  void* socket = nullptr;
  std::unique_ptr<link::Monitor> monitor;
  link::FdSet fds;
  bool connected = false;
  bool greeting_due = false;
  std::uint64_t incarnation = 0;
  std::string problem;
  Assembler assembler;
  std::deque<Outgoing> outbox;
  std::size_t outbox_bytes = 0;
  std::uint32_t id_next = 1;
  std::int64_t reopen_at_ms = 0;  // 0: libzmq reconnects by itself.
  std::uint32_t reopen_wait_ms = 0;
  std::int64_t event_ms = 0;

  ~Impl() { close_socket(); }
  Result<void> open_socket();
  void close_socket();
  void note_events();
  void note(const link::MonitorEvent& event);
  void refused(std::string why);
  void lost();
  bool greet();
  void flush();
};

Result<void> ClientSocket::Impl::open_socket() {
  socket = zmq_socket(context, ZMQ_DEALER);
  if (socket == nullptr) {
    return fail(ErrorCode::kLimit, "link: no further socket: " + link::zmq_problem());
  }
  link::set_common_options(socket);
  link::set_option(socket, ZMQ_CURVE_SERVERKEY, options.server_key);
  link::set_option(socket, ZMQ_CURVE_PUBLICKEY, options.key.public_key);
  link::set_option(socket, ZMQ_CURVE_SECRETKEY, options.key.secret_key);
  link::set_option(socket, ZMQ_RECONNECT_IVL, static_cast<int>(options.reconnect_min_ms));
  link::set_option(socket, ZMQ_RECONNECT_IVL_MAX, static_cast<int>(options.reconnect_max_ms));
  link::set_option(socket, ZMQ_CONNECT_TIMEOUT, 5000);
  link::set_option(socket, ZMQ_IPV6, options.endpoint.find('[') != std::string::npos ? 1 : 0);
  monitor = std::make_unique<link::Monitor>(
      context, socket,
      ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
          ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  const bool is_watched = monitor->is_open();
  if (!is_watched || zmq_connect(socket, options.endpoint.c_str()) != 0) {
    const std::string why = link::zmq_problem();
    monitor.reset();
    zmq_close(socket);
    socket = nullptr;
    return fail(
        is_watched ? ErrorCode::kInvalid : ErrorCode::kLimit,
        "link: cannot connect to \"" + escape_for_terminal(options.endpoint) + "\": " + why);
  }
  event_ms = link::clock_ms();
  reopen_at_ms = 0;
  fds.add(link::native_fd(socket));
  fds.add(monitor->fd());
  return {};
}

void ClientSocket::Impl::close_socket() {
  if (socket == nullptr) return;
  fds.remove(link::native_fd(socket));
  fds.remove(monitor->fd());
  monitor.reset();
  zmq_close(socket);
  socket = nullptr;
}

void ClientSocket::Impl::lost() {
  connected = false;
  greeting_due = false;
  assembler.reset();
  outbox.clear();
  outbox_bytes = 0;
}

// libzmq gives a server up for good once it has said no; we do not: our key may be admitted later.
void ClientSocket::Impl::refused(std::string why) {
  lost();
  problem = std::move(why);
  if (reopen_at_ms != 0) return;
  reopen_wait_ms =
      std::clamp(reopen_wait_ms * 2, options.reconnect_min_ms, options.reconnect_max_ms);
  // Half of it by chance: many that were refused at once do not come back at once.
  reopen_at_ms =
      link::clock_ms() + reopen_wait_ms / 2 + randombytes_uniform(reopen_wait_ms / 2 + 1);
}

void ClientSocket::Impl::note(const link::MonitorEvent& event) {
  event_ms = link::clock_ms();
  switch (event.kind) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      lost();
      connected = true;
      greeting_due = true;
      ++incarnation;
      problem.clear();
      reopen_wait_ms = 0;
      reopen_at_ms = 0;
      break;
    case ZMQ_EVENT_DISCONNECTED:
      if (connected) problem = "the connection was lost";
      lost();
      break;
    case ZMQ_EVENT_CONNECT_RETRIED:
      if (problem.empty()) problem = "nobody listens there";
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      refused("our key is not on the server's list for that port");
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      // Perhaps it has too many to talk to at once, as after its restart: do not make it worse.
      reopen_wait_ms = std::max(reopen_wait_ms, options.reconnect_min_ms * 2);
      [[fallthrough]];
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      refused("the handshake failed: not that server's key, or not a Muster port");
      break;
    default:
      break;
  }
}

void ClientSocket::Impl::note_events() {
  if (socket != nullptr) {
    while (const auto event = monitor->next()) note(*event);
  }
  const std::int64_t now_ms = link::clock_ms();
  if (!connected && reopen_at_ms == 0 && now_ms - event_ms > kSilentMs) reopen_at_ms = now_ms;
  if (reopen_at_ms == 0) return;
  close_socket();  // Or libzmq would go on by itself, ten times a second.
  if (now_ms < reopen_at_ms) return;
  if (!open_socket()) reopen_at_ms = now_ms + options.reconnect_max_ms;
}

// True when the server has been told, now or before, that this connection is ours.
bool ClientSocket::Impl::greet() {
  if (!greeting_due) return true;
  if (zmq_send(socket, kGreeting.data(), kGreeting.size(), ZMQ_DONTWAIT) < 0) return false;
  greeting_due = false;
  return true;
}

void ClientSocket::Impl::flush() {
  if (!connected || !greet()) return;
  while (!outbox.empty()) {
    Outgoing& out = outbox.front();
    if (!send_part(socket, out, out.payload)) return;
    if (++out.part_next < parts_of(out.payload.size())) continue;
    outbox_bytes -= out.payload.size();
    outbox.pop_front();
  }
}

ClientSocket::ClientSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientSocket::~ClientSocket() = default;

Result<std::unique_ptr<ClientSocket>> ClientSocket::open(LinkContext& context,
                                                         const ClientOptions& options) {
  if (auto key = check_public_key(options.server_key); !key) {
    return fail(ErrorCode::kInvalid, "server key: " + key.error().message);
  }
  if (!check_public_key(options.key.public_key) || !check_public_key(options.key.secret_key)) {
    return fail(ErrorCode::kInvalid, "link: no key to connect with");
  }
  if (options.endpoint.rfind("tcp://", 0) != 0) {
    return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(options.endpoint) +
                                         "\" is not of the form tcp://HOST:PORT");
  }
  auto impl = std::make_unique<Impl>();
  impl->context = context.native();
  impl->options = options;
  if (auto opened = impl->open_socket(); !opened) return opened.error();
  return std::unique_ptr<ClientSocket>(new ClientSocket(std::move(impl)));
}

bool ClientSocket::connected() const { return impl_->connected; }
std::uint64_t ClientSocket::incarnation() const { return impl_->incarnation; }
std::string ClientSocket::last_problem() const { return impl_->problem; }

std::optional<std::string> ClientSocket::receive() {
  Impl& my = *impl_;
  while (my.socket != nullptr) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, my.socket, ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&message);
      return std::nullopt;
    }
    // The server is ours and pinned; what it should not send is dropped and the session mends it.
    auto whole = my.assembler.take(
        {static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message)});
    zmq_msg_close(&message);
    if (whole && whole->has_value()) return std::move(**whole);
  }
  return std::nullopt;
}

Result<void> ClientSocket::send(std::string_view payload) {
  Impl& my = *impl_;
  if (payload.size() > kLinkPayloadBytesMax) {
    return fail(ErrorCode::kLimit,
                "link: a payload of " + std::to_string(payload.size()) + " bytes is too large");
  }
  if (!my.connected) {
    return fail(ErrorCode::kUnavailable, "link: not connected to " + my.options.endpoint);
  }
  Outgoing out;
  out.id = my.id_next++;
  const std::size_t parts = parts_of(payload.size());
  while (my.greet() && my.outbox.empty() && out.part_next < parts) {
    if (!send_part(my.socket, out, payload)) break;
    ++out.part_next;
  }
  if (out.part_next == parts) return {};
  if (my.outbox_bytes + payload.size() > kLinkOutboxBytesMax) {
    return fail(ErrorCode::kLimit, "link: the server does not read what it is sent");
  }
  out.payload = payload;
  my.outbox_bytes += payload.size();
  my.outbox.push_back(std::move(out));
  return {};
}

int ClientSocket::fd() const { return impl_->fds.fd(); }

bool ClientSocket::has_input() {
  impl_->note_events();
  if (impl_->socket == nullptr) return false;
  const bool yes = link::readable(impl_->socket);
  impl_->flush();
  return yes;
}

bool ClientSocket::wants_tick() const { return !impl_->outbox.empty() || impl_->reopen_at_ms != 0; }

void ClientSocket::tick() { has_input(); }

}  // namespace muster
