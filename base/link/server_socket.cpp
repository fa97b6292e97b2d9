// The ROUTER behind CURVE and ZAP.
#include <zmq.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "base/link/authenticator_impl.h"
#include "base/link/chunk.h"
#include "base/link/connections.h"
#include "base/link/link.h"
#include "base/link/native.h"

namespace muster {
namespace {

constexpr std::size_t kUnfinishedBytesMax = 256U << 20U;  // Of all peers together.
constexpr std::int64_t kUnfinishedMs = 30000;             // Then an unfinished payload is dropped.
constexpr int kFramesPerReceive = 256;
constexpr int kZapEnforceDomain = 93;  // ZMQ_ZAP_ENFORCE_DOMAIN, which zmq.h keeps for drafts.

enum class PartResult : std::uint8_t { kSent, kFull, kGone };

struct Outgoing {
  std::string payload;
  std::uint32_t id = 0;
  std::size_t part_next = 0;
};

// Only of peers with something unfinished.
struct Peer {
  int fd = -1;
  Assembler assembler;
  std::int64_t touched_ms = 0;
  std::deque<Outgoing> outbox;
  std::size_t outbox_bytes = 0;
};

struct Frame {
  PeerId peer;
  std::string user_id;
  std::string identity;  // User id and key.
  std::string bytes;
  int fd = -1;
  bool more = false;
};

class Message {
 public:
  Message() { zmq_msg_init(&message_); }
  ~Message() { zmq_msg_close(&message_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  zmq_msg_t* native() { return &message_; }
  std::string_view bytes() {
    return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }

 private:
  zmq_msg_t message_;
};

PartResult send_part(void* socket, const PeerId& peer, const Outgoing& out,
                     std::string_view payload) {
  while (zmq_send(socket, peer.data(), peer.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0) {
    if (zmq_errno() == EINTR) continue;
    return zmq_errno() == EAGAIN ? PartResult::kFull : PartResult::kGone;
  }
  zmq_msg_t message;
  MUSTER_ASSERT(zmq_msg_init_size(&message, part_bytes(payload.size(), out.part_next)) == 0);
  write_part(payload, out.id, out.part_next, static_cast<char*>(zmq_msg_data(&message)));
  while (zmq_msg_send(&message, socket, ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() == EINTR) continue;
    zmq_msg_close(&message);
    return PartResult::kGone;
  }
  return PartResult::kSent;
}

// The enrol port lets anybody say one short thing.
void bound_strangers(link::ConnectionLimits& limits) {
  limits.per_address_max = 256;
  limits.handshakes_per_address_max = 128;
  limits.pending_bytes_max = 2U << 20U;
  limits.pending_bytes_total_max = 32U << 20U;
}

void bound_strangers(void* socket) {
  const std::int64_t frame_bytes_max = kLinkPartBytes * 2;
  MUSTER_ASSERT(zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_bytes_max, sizeof frame_bytes_max) ==
                0);
  link::set_option(socket, ZMQ_RCVHWM, 16);
}

}  // namespace

struct ServerSocket::Impl {
  void* socket = nullptr;
  const AccessList* access = nullptr;
  LinkRole domain = LinkRole::kWorker;
  std::string endpoint;
  std::unique_ptr<link::Monitor> monitor;
  link::FdSet fds;
  link::Connections connections;
  ServerCounts counts;
  std::map<PeerId, Peer> peers;
  std::size_t unfinished_bytes = 0;
  std::size_t outboxes = 0;  // Peers with a waiting outbox.
  std::uint32_t id_next = 1;
  std::uint64_t access_version = 0;

  Impl(link::ConnectionLimits limits, Authenticator::Log log)
      : connections(limits, std::move(log)) {}
  ~Impl();
  bool read_frame(Frame& frame);
  std::optional<Inbound> take(Frame& frame);
  Result<std::optional<std::string>> assemble(const Frame& frame);
  void note_events();
  bool is_admitted(std::string_view identity) const;
  bool flush(const PeerId& id, Peer& peer);
  void flush_all();
  void drop_unfinished(std::int64_t now_ms);
  void forget_if_idle(std::map<PeerId, Peer>::iterator at);
};

ServerSocket::Impl::~Impl() {
  monitor.reset();
  if (socket != nullptr) zmq_close(socket);
}

bool ServerSocket::Impl::is_admitted(std::string_view identity) const {
  const auto parts = link::split_user_id(identity);
  if (!parts) return false;
  const auto entry = access->admit(std::string(parts->public_key), domain);
  return entry && entry->user_id == parts->user_id;
}

// One frame pair, the rest of a longer message thrown away. False: nothing waits.
bool ServerSocket::Impl::read_frame(Frame& frame) {
  Message id;
  if (zmq_msg_recv(id.native(), socket, ZMQ_DONTWAIT) < 0) {
    connections.note_drained();
    return false;
  }
  frame.peer = id.bytes();
  frame.more = zmq_msg_more(id.native()) != 0;
  if (!frame.more) return true;  // No payload at all: cannot come from a DEALER of ours.
  Message payload;
  if (zmq_msg_recv(payload.native(), socket, ZMQ_DONTWAIT) < 0) return false;
  frame.bytes = payload.bytes();
  frame.more = zmq_msg_more(payload.native()) != 0;
  frame.fd = zmq_msg_get(payload.native(), ZMQ_SRCFD);
  if (const char* identity = zmq_msg_gets(payload.native(), "User-Id"); identity != nullptr) {
    frame.identity = identity;
  }
  if (!connections.delivered(frame.fd, frame.bytes.size(), frame.identity)) {
    note_events();  // Its accept is among them, unless it has ended since.
    connections.delivered(frame.fd, frame.bytes.size(), frame.identity);
  }
  for (bool more = frame.more; more;) {
    Message rest;
    if (zmq_msg_recv(rest.native(), socket, ZMQ_DONTWAIT) < 0) break;
    connections.delivered(frame.fd, rest.bytes().size(), frame.identity);
    more = zmq_msg_more(rest.native()) != 0;
  }
  return true;
}

std::optional<Inbound> ServerSocket::Impl::take(Frame& frame) {
  const auto parts = link::split_user_id(frame.identity);
  if (!parts || !is_admitted(frame.identity)) {
    ++counts.revoked;
    connections.cut(frame.fd, "its key was withdrawn");
    return std::nullopt;
  }
  if (frame.bytes == kGreeting && !frame.more) return std::nullopt;
  auto whole = frame.more ? Result<std::optional<std::string>>(
                                fail(ErrorCode::kInvalid, "link: a message of several frames"))
                          : assemble(frame);
  if (!whole) {
    ++counts.malformed;
    connections.cut(frame.fd, whole.error().message);
    return std::nullopt;
  }
  if (!whole->has_value()) return std::nullopt;
  ++counts.received;
  return Inbound{std::move(frame.peer), std::string(parts->user_id), std::move(**whole)};
}

Result<std::optional<std::string>> ServerSocket::Impl::assemble(const Frame& frame) {
  const auto known = peers.find(frame.peer);
  const bool is_whole = !frame.bytes.empty() && frame.bytes[0] == 0;
  if (is_whole) return std::optional<std::string>(frame.bytes.substr(1));
  if (domain == LinkRole::kEnrol) {
    return fail(ErrorCode::kInvalid, "link: more than one part from a stranger");
  }
  if (unfinished_bytes > kUnfinishedBytesMax && known == peers.end()) {
    return fail(ErrorCode::kLimit, "link: too many unfinished payloads");
  }
  const auto at = known != peers.end() ? known : peers.try_emplace(frame.peer).first;
  Peer& peer = at->second;
  peer.fd = frame.fd;
  peer.touched_ms = link::clock_ms();
  unfinished_bytes -= peer.assembler.bytes();
  auto whole = peer.assembler.take(frame.bytes);
  unfinished_bytes += peer.assembler.bytes();
  forget_if_idle(at);
  return whole;
}

void ServerSocket::Impl::forget_if_idle(std::map<PeerId, Peer>::iterator at) {
  if (at->second.outbox.empty() && at->second.assembler.is_idle()) peers.erase(at);
}

void ServerSocket::Impl::note_events() {
  const std::int64_t now_ms = link::clock_ms();
  while (const auto event = monitor->next()) {
    switch (event->kind) {
      case ZMQ_EVENT_ACCEPTED:
        connections.accepted(event->value, now_ms);
        break;
      case ZMQ_EVENT_DISCONNECTED:
        connections.closed(event->value);
        break;
      case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        ++counts.handshakes_failed;
        break;
      default:
        break;
    }
  }
  connections.sweep(now_ms);
  if (const std::uint64_t version = access->version(); version != access_version) {
    access_version = version;
    connections.cut_unless([this](std::string_view identity) { return is_admitted(identity); });
  }
}

// False when the peer is gone.
bool ServerSocket::Impl::flush(const PeerId& id, Peer& peer) {
  while (!peer.outbox.empty()) {
    Outgoing& out = peer.outbox.front();
    const PartResult result = send_part(socket, id, out, out.payload);
    if (result == PartResult::kFull) return true;
    if (result == PartResult::kGone) return false;
    if (++out.part_next < parts_of(out.payload.size())) continue;
    peer.outbox_bytes -= out.payload.size();
    peer.outbox.pop_front();
    if (peer.outbox.empty()) --outboxes;
  }
  return true;
}

void ServerSocket::Impl::flush_all() {
  if (outboxes == 0) return;
  for (auto at = peers.begin(); at != peers.end();) {
    const auto here = at++;
    if (here->second.outbox.empty()) continue;
    if (!flush(here->first, here->second)) {
      --outboxes;
      unfinished_bytes -= here->second.assembler.bytes();
      peers.erase(here);
    } else {
      forget_if_idle(here);
    }
  }
}

void ServerSocket::Impl::drop_unfinished(std::int64_t now_ms) {
  for (auto at = peers.begin(); at != peers.end();) {
    const auto here = at++;
    Peer& peer = here->second;
    if (peer.assembler.is_idle() || now_ms - peer.touched_ms < kUnfinishedMs) continue;
    unfinished_bytes -= peer.assembler.bytes();
    peer.assembler.reset();
    forget_if_idle(here);
  }
}

ServerSocket::ServerSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerSocket::~ServerSocket() = default;

Result<std::unique_ptr<ServerSocket>> ServerSocket::open(Authenticator& authenticator,
                                                         const ServerOptions& options) {
  if (!check_public_key(options.key.secret_key)) {
    return fail(ErrorCode::kInvalid, "link: " + options.endpoint + ": no key to serve with");
  }
  link::ConnectionLimits limits;
  limits.per_address_max = options.connections_per_address_max;
  limits.pending_bytes_max = options.pending_bytes_max;
  if (options.domain == LinkRole::kEnrol) bound_strangers(limits);
  auto impl = std::make_unique<Impl>(limits, options.log);
  void* const context = authenticator.impl_->context;
  impl->access = authenticator.impl_->access;
  impl->access_version = impl->access->version();
  impl->domain = options.domain;
  impl->socket = zmq_socket(context, ZMQ_ROUTER);
  MUSTER_ASSERT(impl->socket != nullptr);
  link::set_common_options(impl->socket);
  // libzmq looks through the timers of all its connections whenever one of them is heard: from some
  // 5,000 peers on it does nothing else. Nodes ask us, and speak every few seconds anyway.
  const bool has_many = options.domain == LinkRole::kWorker || options.domain == LinkRole::kBulk;
  if (has_many) link::set_option(impl->socket, ZMQ_HEARTBEAT_IVL, 0);
  if (options.domain == LinkRole::kEnrol) bound_strangers(impl->socket);
  link::set_option(impl->socket, ZMQ_CURVE_SERVER, 1);
  link::set_option(impl->socket, ZMQ_CURVE_SECRETKEY, options.key.secret_key);
  link::set_option(impl->socket, ZMQ_ZAP_DOMAIN, name_of(options.domain));
  const int enforce = 1;  // Not every libzmq has it: prove_unknown_key_refused() is what counts.
  zmq_setsockopt(impl->socket, kZapEnforceDomain, &enforce, sizeof enforce);
  link::set_option(impl->socket, ZMQ_ROUTER_MANDATORY, 1);
  link::set_option(impl->socket, ZMQ_ROUTER_HANDOVER, 0);
  link::set_option(impl->socket, ZMQ_BACKLOG, 4096);
  link::set_option(impl->socket, ZMQ_IPV6, options.endpoint.find('[') != std::string::npos ? 1 : 0);
  impl->monitor = std::make_unique<link::Monitor>(
      context, impl->socket,
      ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  MUSTER_ASSERT(impl->monitor->is_open());
  if (zmq_bind(impl->socket, options.endpoint.c_str()) != 0) {
    return fail(ErrorCode::kUnavailable,
                "link: cannot listen on " + options.endpoint + ": " + link::zmq_problem());
  }
  std::array<char, 256> bound{};
  std::size_t size = bound.size();
  MUSTER_ASSERT(zmq_getsockopt(impl->socket, ZMQ_LAST_ENDPOINT, bound.data(), &size) == 0);
  impl->endpoint = bound.data();
  impl->fds.add(link::native_fd(impl->socket));
  impl->fds.add(impl->monitor->fd());
  return std::unique_ptr<ServerSocket>(new ServerSocket(std::move(impl)));
}

const std::string& ServerSocket::endpoint() const { return impl_->endpoint; }

std::optional<Inbound> ServerSocket::receive() {
  for (int frames = 0; frames < kFramesPerReceive; ++frames) {
    Frame frame;
    if (!impl_->read_frame(frame)) return std::nullopt;
    if (auto inbound = impl_->take(frame)) return inbound;
  }
  return std::nullopt;
}

Result<void> ServerSocket::send(const PeerId& peer, std::string_view payload) {
  if (payload.size() > kLinkPayloadBytesMax) {
    return fail(ErrorCode::kLimit,
                "link: a payload of " + std::to_string(payload.size()) + " bytes is too large");
  }
  auto at = impl_->peers.find(peer);
  const bool waits = at != impl_->peers.end() && !at->second.outbox.empty();
  Outgoing out;
  out.id = impl_->id_next++;
  const std::size_t parts = parts_of(payload.size());
  if (!waits) {
    for (; out.part_next < parts; ++out.part_next) {
      const PartResult result = send_part(impl_->socket, peer, out, payload);
      if (result == PartResult::kGone) {
        return fail(ErrorCode::kNotFound, "link: that connection is gone");
      }
      if (result == PartResult::kFull) break;
    }
    if (out.part_next == parts) return {};
  }
  if (at == impl_->peers.end()) at = impl_->peers.try_emplace(peer).first;
  Peer& known = at->second;
  if (known.outbox_bytes + payload.size() > kLinkOutboxBytesMax) {
    return fail(ErrorCode::kLimit, "link: the peer does not read what it is sent");
  }
  if (!waits) ++impl_->outboxes;
  out.payload = payload;
  known.outbox_bytes += payload.size();
  known.outbox.push_back(std::move(out));
  return {};
}

std::size_t ServerSocket::outbox_bytes(const PeerId& peer) const {
  const auto found = impl_->peers.find(peer);
  return found == impl_->peers.end() ? 0 : found->second.outbox_bytes;
}

int ServerSocket::fd() const { return impl_->fds.fd(); }

bool ServerSocket::has_input() {
  impl_->note_events();
  const bool yes = link::readable(impl_->socket);
  impl_->flush_all();
  return yes;
}

bool ServerSocket::wants_tick() const { return impl_->outboxes != 0; }

void ServerSocket::tick() {
  impl_->note_events();
  link::readable(impl_->socket);
  impl_->flush_all();
  impl_->drop_unfinished(link::clock_ms());
}

ServerCounts ServerSocket::counts() const {
  ServerCounts counts = impl_->counts;
  counts.cut = impl_->connections.cuts();
  counts.connections = impl_->connections.count();
  return counts;
}

}  // namespace muster
