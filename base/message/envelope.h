// What a request and its answer travel in: command -> gateway (Unix socket, framed) -> controller
// (CURVE). The gateway stamps who asks; nothing a client writes into it can change that.
#pragma once

#include <optional>
#include <string>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

template <>
struct EnumNames<ErrorCode> {
  static constexpr std::array<std::string_view, 6> kNames{"invalid", "not-found",   "conflict",
                                                          "limit",   "unavailable", "corrupt"};
};

// Protocol of envelopes. A controller takes its own and the two before.
constexpr std::uint32_t kRequestProtocol = 1;

enum class Verb : std::uint8_t {
  kPing,
  kStatus,
  kSubmit,
  kCancel,
  kHold,
  kRelease,
  kRequeue,
  kTop,
  kSet,
  kJobs,
  kJob,
  kWhy,
  kWatch,
  kNodes,
  kQueues,
  kAccounts,
  kAccounting,
  kLogOpen,
  kLogRead,
  kLogClose,
  kNodeAdd,
  kNodeDrain,
  kNodeResume,
  kNodeRemove,
  kNodeConfirmDead,
  kReload,
  kConfigShow,
  kDatabaseSkip,
  kShares,
  kTurns,
  kObjects,
  kObjectChange,
  kReservationAdd,
  kReservationSet,
  kReservationRemove,
  kReservations,
  kEstimates,
  kUsageSet,
  kStateDump,
  kLicences,
};
template <>
struct EnumNames<Verb> {
  static constexpr std::array<std::string_view, 40> kNames{"ping",
                                                           "status",
                                                           "submit",
                                                           "cancel",
                                                           "hold",
                                                           "release",
                                                           "requeue",
                                                           "top",
                                                           "set",
                                                           "jobs",
                                                           "job",
                                                           "why",
                                                           "watch",
                                                           "nodes",
                                                           "queues",
                                                           "accounts",
                                                           "accounting",
                                                           "log-open",
                                                           "log-read",
                                                           "log-close",
                                                           "node-add",
                                                           "node-drain",
                                                           "node-resume",
                                                           "node-remove",
                                                           "node-confirm-dead",
                                                           "reload",
                                                           "config-show",
                                                           "database-skip",
                                                           "shares",
                                                           "turns",
                                                           "objects",
                                                           "object-change",
                                                           "reservation-add",
                                                           "reservation-set",
                                                           "reservation-remove",
                                                           "reservations",
                                                           "estimates",
                                                           "usage-set",
                                                           "state-dump",
                                                           "licences"};
};

struct Request {
  std::uint32_t protocol = kRequestProtocol;
  std::uint64_t number = 0;  // The client's; its reply carries it.
  Verb verb = Verb::kPing;
  std::optional<Uuid> request_id;  // For verbs that change something: a retry is the same request.
  Seq seen;          // Last acknowledged sequence: a read waits for it (read your writes).
  std::string body;  // Encoded body of the verb.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "protocol", self.protocol);
    visit(2, "number", self.number);
    visit(3, "verb", self.verb);
    visit(4, "request_id", self.request_id);
    visit(5, "seen", self.seen);
    visit(6, "body", self.body);
  }
};

// What the gateway wraps around the client's bytes on their way to the controller.
struct StampedRequest {
  std::uint64_t connection = 0;  // The gateway's number of the client's connection.
  Uid uid;                       // By SO_PEERCRED at connect.
  Gid gid;
  std::int32_t pid = 0;
  std::string request;  // Encoded Request, untouched.
  bool closed = false;  // The client is gone: its watches and logs end. request is empty then.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "connection", self.connection);
    visit(2, "uid", self.uid);
    visit(3, "gid", self.gid);
    visit(4, "pid", self.pid);
    visit(5, "request", self.request);
    visit(6, "closed", self.closed);
  }
};

struct Response {
  std::uint64_t number = 0;
  bool ok = true;
  ErrorCode code = ErrorCode::kInvalid;  // When not ok.
  std::string error;                     // One line: what, where, why, next step.
  Seq seq;                               // Journal sequence this answer stands on.
  std::uint32_t retry_after_ms = 0;      // With kLimit or kUnavailable: when to try again.
  bool more = false;  // Another response with this number follows (watch, large lists).
  std::string body;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "number", self.number);
    visit(2, "ok", self.ok);
    visit(3, "code", self.code);
    visit(4, "error", self.error);
    visit(5, "seq", self.seq);
    visit(6, "retry_after_ms", self.retry_after_ms);
    visit(7, "more", self.more);
    visit(8, "body", self.body);
  }
};

struct StampedResponse {
  std::uint64_t connection = 0;
  bool close = false;    // The controller gives this client up.
  std::string response;  // Encoded Response.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "connection", self.connection);
    visit(2, "close", self.close);
    visit(3, "response", self.response);
  }
};

}  // namespace muster
