// Sockets between daemons. A server is a ROUTER behind CURVE and ZAP, a client a DEALER that pins
// the server's key. Both carry whole payloads of up to kLinkPayloadBytesMax; larger ones than a
// part travel as chunks, unseen.
//
// Sending says nothing about arrival: a link loses what was on its way when it breaks. Who needs
// more uses base/session above it. One thread uses a socket at a time; a context and an AccessList
// may be shared.
//
// Waiting: libzmq's descriptor is edge-triggered and also fires for its own housekeeping. The rule,
// kept by Poller: before you block, ask has_input() of every socket, and block only when all say
// no; a readable fd() means no more than "ask again". Whoever puts fd() into a loop of their own
// must keep the rule, and must call tick() at least every 50 ms while wants_tick(), else at least
// once a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/link/access.h"
#include "base/link/keys.h"
#include "base/types/result.h"

namespace muster {

constexpr std::size_t kLinkPayloadBytesMax = 40U << 20U;
constexpr std::size_t kLinkPartBytes = 16U << 10U;     // What our side sends at once.
constexpr std::size_t kLinkFrameBytesMax = 1U << 20U;  // MAXMSGSIZE: what a peer may send at once.
constexpr int kLinkPartsQueued = 1000;  // High-water marks: 16 MiB per peer and direction.
constexpr std::size_t kLinkOutboxBytesMax =
    48U << 20U;  // Further bytes that wait for one peer; then send says kLimit.

// One libzmq context with its I/O threads. Sockets and the Authenticator must be gone before it.
class LinkContext {
 public:
  explicit LinkContext(int io_threads = 1);
  ~LinkContext();
  LinkContext(const LinkContext&) = delete;
  LinkContext& operator=(const LinkContext&) = delete;
  void* native() const { return native_; }

 private:
  void* native_;
};

// The ZAP handler: a thread that answers for every server socket of the context. A ServerSocket
// cannot be opened without one, so no port is ever open to keys that nobody admitted.
class Authenticator {
 public:
  using Log = std::function<void(const std::string& line)>;  // Called from the handler's thread.

  // kConflict when the context has a handler already. access must outlive it. Refusals are logged:
  // at most one line a second, with the number of those left out.
  static Result<std::unique_ptr<Authenticator>> start(LinkContext& context,
                                                      const AccessList& access, Log log);
  ~Authenticator();  // After all server sockets of the context.
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  std::uint64_t refused() const;  // Handshakes refused so far.

 private:
  friend class ServerSocket;
  struct Impl;
  explicit Authenticator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

using PeerId = std::string;  // Bytes that name one connection of one peer; a reconnect makes a new
                             // one. Not an identity.

struct Inbound {
  PeerId peer;
  std::string user_id;  // Of the key, by ZAP: "node:n1". The identity.
  std::string payload;
};

struct ServerOptions {
  std::string endpoint;  // "tcp://10.0.0.1:7300"; port "*" takes a free one.
  LinkRole domain = LinkRole::kWorker;
  KeyPair key;
  std::uint32_t connections_per_address_max = 20000;
  std::size_t pending_bytes_max = 64U << 20U;  // A peer with more received than delivered (an
                                               // endless multipart message) is cut.
  Authenticator::Log log;  // Connections that were cut; at most one line a second.
};

struct ServerCounts {
  std::uint64_t received = 0;   // Payloads delivered.
  std::uint64_t malformed = 0;  // Multipart messages and bad chunks, dropped.
  std::uint64_t revoked = 0;    // Frames of keys no longer admitted, dropped.
  std::uint64_t cut =
      0;  // Connections ended by us: floods, revoked keys, too many from one address.
  std::uint64_t handshakes_failed =
      0;  // Before or in ZAP: wrong mechanism, wrong server key, refused key.
  std::uint64_t connections = 0;  // Open now.
};

class ServerSocket {
 public:
  // kUnavailable with the endpoint when it cannot be bound.
  static Result<std::unique_ptr<ServerSocket>> open(Authenticator& authenticator,
                                                    const ServerOptions& options);
  ~ServerSocket();
  ServerSocket(const ServerSocket&) = delete;
  ServerSocket& operator=(const ServerSocket&) = delete;

  const std::string& endpoint() const;  // With the real port.

  // The next whole payload, or nothing for now. Never blocks.
  std::optional<Inbound> receive();

  // Takes the payload or fails as a whole. kNotFound: that connection is gone. kLimit:
  // kLinkOutboxBytesMax are waiting for that peer already, or the payload is larger than
  // kLinkPayloadBytesMax. Never blocks.
  Result<void> send(const PeerId& peer, std::string_view payload);

  // Bytes that wait here for a peer, beyond what libzmq has taken. Who may send much asks first,
  // and holds work back while it is not small.
  std::size_t outbox_bytes(const PeerId& peer) const;

  int fd() const;
  bool has_input();
  bool wants_tick() const;  // Parts wait for a slow peer.
  void tick();              // Sends what waits, looks after connections.
  ServerCounts counts() const;

 private:
  struct Impl;
  explicit ServerSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ClientOptions {
  std::string endpoint;
  std::string server_key;  // Z85, pinned.
  KeyPair key;
  std::uint32_t reconnect_min_ms = 100;
  std::uint32_t reconnect_max_ms = 10000;
};

class ClientSocket {
 public:
  // kInvalid for an endpoint or key that cannot be right. Connecting goes on in the background and
  // for ever.
  static Result<std::unique_ptr<ClientSocket>> open(LinkContext& context,
                                                    const ClientOptions& options);
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  // True from the end of a handshake to the loss of the connection (closed, or three heartbeats of
  // 2 s missed). incarnation() counts handshakes: another number means that everything sent before
  // may be lost, and that the server knows us by another PeerId. Both change in receive(),
  // has_input() and tick() only.
  bool connected() const;
  std::uint64_t incarnation() const;
  std::string last_problem()
      const;  // Why there is no connection, for a log line; empty when unknown.

  std::optional<std::string> receive();
  // kUnavailable when not connected; kLimit when too much waits. Never blocks.
  Result<void> send(std::string_view payload);

  int fd() const;  // Wakes for messages and for changes of the connection.
  bool has_input();
  bool wants_tick() const;
  void tick();

 private:
  struct Impl;
  explicit ClientSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Connects with a key that nobody knows and expects silence: fails (kUnavailable) when the server
// accepts it or cannot be reached at all. endpoint is what ServerSocket::endpoint() says. The
// socket's owner must not wait for anything else meanwhile; the server socket itself need not be
// served. For the start of a daemon.
Result<void> prove_unknown_key_refused(const std::string& endpoint,
                                       const std::string& server_public_key);

}  // namespace muster
