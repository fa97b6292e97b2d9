// A client of the cluster, through the gateway of this host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/message/codec.h"
#include "base/message/request.h"
#include "base/message/verbs.h"
#include "base/types/ids.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// $MUSTER_GATEWAY, else $XDG_RUNTIME_DIR/muster/gateway.sock when there is one, else
// /run/muster/gateway.sock.
std::string default_gateway_path();

// A UUIDv7 of now: the id under which a request may be repeated.
Uuid new_request_id();

struct ClientSettings {
  std::string gateway = default_gateway_path();
  Duration timeout =
      seconds(60);  // For one call with all its retries; 0: the first failure is the answer.
  // Told once when waiting begins and once a minute from then on: "controller is away, waiting …".
  // May be empty.
  std::function<void(const std::string& line)> on_waiting;
};

struct CallOptions {
  std::optional<Uuid> request_id;   // Of a mutating verb; absent: a fresh one.
  std::optional<Duration> timeout;  // Absent: the client's.
};

// For one thread. Connects with the first call and again whenever the connection breaks; what is
// outstanding then is sent again under its old request ids. Reads carry the sequence of this
// client's last write (read your writes).
class Client {
 public:
  explicit Client(ClientSettings options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The positive answer; or the controller's rejection as an Error with its code and line; or
  // kUnavailable when no answer came in time (a mutating request may then have been done: repeat it
  // under the same id), or kLimit, kInvalid and kCorrupt for what this side refused.
  Result<Response> call(Verb verb, std::string_view body, const CallOptions& options = {});

  // The same with bodies encoded and decoded.
  template <class Reply, class Body>
  Result<Reply> ask(Verb verb, const Body& body, const CallOptions& options = {}) {
    auto response = call(verb, encode(body), options);
    if (!response) return response.error();
    return decode<Reply>(response->body);
  }

  // For answers that go on (watch, lists in pieces). Calls on_response for each, with first = true
  // for the first one after every (re)connection: a watch then begins again with a full list. Ends
  // after the last one (more = false), or when on_response returns false. The time limit holds for
  // waits without a connection or a first answer, not for silence.
  Result<void> stream(Verb verb, std::string_view body,
                      const std::function<bool(const Response&, bool first)>& on_response,
                      const CallOptions& options = {});

  // Several requests at once, for bulk clients: start() sends and returns a ticket (kLimit when
  // kOutstandingMax are under way), finish() waits for one answer, with the results of call().
  Result<std::uint64_t> start(Verb verb, std::string_view body, const CallOptions& options = {});
  Result<Response> finish(std::uint64_t ticket);
  static constexpr std::size_t kOutstandingMax = 256;

  Seq seen() const;         // Sequence of the last answer to a write.
  void note_seen(Seq seq);  // From another process (gpusubmit --parsable …).

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
