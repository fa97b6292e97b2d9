// What workers and the controller say to each other, above base/session. Each message is one
// session payload: a WorkerMessage or a ControllerMessage with exactly one part set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/resources.h"

namespace muster {

constexpr std::uint32_t kWorkerProtocol = 1;

// The same enumeration as the engine's AttemptPhase, as bytes.
enum class ReportPhase : std::uint8_t {
  kUnknown,
  kPreparing,
  kPrepared,
  kRunning,
  kStopping,
  kEnded
};
template <>
struct EnumNames<ReportPhase> {
  static constexpr std::array<std::string_view, 6> kNames{"unknown", "preparing", "prepared",
                                                          "running", "stopping",  "ended"};
};

struct ReportPart {
  AttemptKey key;
  ReportPhase phase = ReportPhase::kUnknown;
  Epoch epoch;
  std::vector<std::uint16_t> ports;
  std::optional<ExitRecord> record;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "phase", self.phase);
    visit(3, "epoch", self.epoch);
    visit(4, "ports", self.ports);
    visit(5, "record", self.record);
  }
};

// First message of every connection: all attempts the node holds.
struct HelloPart {
  std::uint32_t protocol_min = kWorkerProtocol;
  std::uint32_t protocol_max = kWorkerProtocol;
  std::string node;  // Checked against the authenticated identity.
  std::string boot_id;
  std::uint64_t incarnation = 0;
  Inventory inventory;
  std::vector<ReportPart> attempts;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "protocol_min", self.protocol_min);
    visit(2, "protocol_max", self.protocol_max);
    visit(3, "node", self.node);
    visit(4, "boot_id", self.boot_id);
    visit(5, "incarnation", self.incarnation);
    visit(6, "inventory", self.inventory);
    visit(7, "attempts", self.attempts);
  }
};

struct WorkerMessage {
  std::optional<HelloPart> hello;
  std::vector<ReportPart> reports;
  std::optional<Inventory> inventory;  // It changed.
  bool heartbeat = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "hello", self.hello);
    visit(2, "reports", self.reports);
    visit(3, "inventory", self.inventory);
    visit(4, "heartbeat", self.heartbeat);
  }
};

// The controller's answer to hello.
struct WelcomePart {
  std::uint32_t protocol = kWorkerProtocol;
  std::string cluster_id;
  Epoch epoch;
  Duration heartbeat_every = seconds(2);
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "protocol", self.protocol);
    visit(2, "cluster_id", self.cluster_id);
    visit(3, "epoch", self.epoch);
    visit(4, "heartbeat_every", self.heartbeat_every);
  }
};
// Orders are base/order bytes with their signatures; script and environment are checked by hash
// against the order.
struct PreparePart {
  std::string common_order;
  std::string common_signature;
  std::string node_order;
  std::string node_signature;
  std::string script;
  std::string environment;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "common_order", self.common_order);
    visit(2, "common_signature", self.common_signature);
    visit(3, "node_order", self.node_order);
    visit(4, "node_signature", self.node_signature);
    visit(5, "script", self.script);
    visit(6, "environment", self.environment);
  }
};
struct GoPart {
  std::string go_order;
  std::string go_signature;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "go_order", self.go_order);
    visit(2, "go_signature", self.go_signature);
  }
};
struct KillPart {
  AttemptKey key;
  std::string reason;
  Duration grace;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "reason", self.reason);
    visit(3, "grace", self.grace);
  }
};
struct SignalPart {
  AttemptKey key;
  std::int32_t signal = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "signal", self.signal);
  }
};

struct ControllerMessage {
  std::optional<WelcomePart> welcome;
  std::vector<PreparePart> prepares;
  std::vector<GoPart> goes;
  std::vector<KillPart> kills;
  std::vector<SignalPart> signals;
  std::vector<AttemptKey> forgets;
  std::string refused;  // Why this worker is turned away; the connection is over.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "welcome", self.welcome);
    visit(2, "prepares", self.prepares);
    visit(3, "goes", self.goes);
    visit(4, "kills", self.kills);
    visit(5, "signals", self.signals);
    visit(6, "forgets", self.forgets);
    visit(7, "refused", self.refused);
  }
};

// ---- the bulk port: log bytes between the controller's relay and a worker ----
struct LogAsk {
  std::uint64_t number = 0;
  AttemptKey key;
  std::int32_t rank = -1;
  bool errors = false;
  std::uint64_t offset = 0;
  std::uint32_t bytes_max = 0;
  std::uint32_t wait_ms = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "number", self.number);
    visit(2, "key", self.key);
    visit(3, "rank", self.rank);
    visit(4, "errors", self.errors);
    visit(5, "offset", self.offset);
    visit(6, "bytes_max", self.bytes_max);
    visit(7, "wait_ms", self.wait_ms);
  }
};
struct LogAnswer {
  std::uint64_t number = 0;
  std::string error;  // Empty: fine.
  std::uint64_t offset = 0;
  std::string data;
  bool end = false;
  std::string path;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "number", self.number);
    visit(2, "error", self.error);
    visit(3, "offset", self.offset);
    visit(4, "data", self.data);
    visit(5, "end", self.end);
    visit(6, "path", self.path);
  }
};

// A node that is not enrolled yet trades its one-time token for a place on the list. Sent on the
// enrol port, where the server key is pinned and any client key may speak but only this message is
// understood.
struct EnrolAsk {
  std::string node;
  std::string token;
  std::string public_key;  // Z85: the node's transport key from now on.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "token", self.token);
    visit(3, "public_key", self.public_key);
  }
};
struct EnrolAnswer {
  std::string error;
  std::string cluster_id;
  std::string order_public_key;  // Ed25519, hex: what the launcher pins.
  std::string order_key_id;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "error", self.error);
    visit(2, "cluster_id", self.cluster_id);
    visit(3, "order_public_key", self.order_public_key);
    visit(4, "order_key_id", self.order_key_id);
  }
};

}  // namespace muster
