// What is asked about the cluster, and answered: nodes, queues, accounts, its state;
// administration.
#pragma once

#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/reservation_spec.h"
#include "base/types/resources.h"
#include "base/types/time.h"

namespace muster {

struct DeviceRow {
  GpuFacts facts;
  std::uint32_t milli_used = 0;
  std::vector<std::string> holders;  // "17" or "17_3"; with the user: "17 (kim)".
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "facts", self.facts);
    visit(2, "milli_used", self.milli_used);
    visit(3, "holders", self.holders);
  }
};
struct NodeRow {
  std::string name;
  std::string state;  // NodeState's name; "unreported" before its first hello.
  std::string reason;
  bool connected = false;
  std::uint32_t cpus = 0;
  std::uint32_t cpus_used = 0;
  std::uint64_t memory_mib = 0;
  std::uint64_t memory_mib_used = 0;
  std::vector<DeviceRow> gpus;
  std::vector<std::string> features;
  std::string address;
  std::string release;
  std::string boot_id;
  std::string alarm;        // Empty: none.
  std::string reservation;  // That is on or comes next; empty: none.
  WallTime reserved_from;
  WallTime reserved_until;
  std::string drain_reason;  // While it is drained, whatever its state; with the following.
  std::string drained_by;
  WallTime drained_since;
  WallTime drain_deadline;  // What still runs then is requeued; 0: none.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "state", self.state);
    visit(3, "reason", self.reason);
    visit(4, "connected", self.connected);
    visit(5, "cpus", self.cpus);
    visit(6, "cpus_used", self.cpus_used);
    visit(7, "memory_mib", self.memory_mib);
    visit(8, "memory_mib_used", self.memory_mib_used);
    visit(9, "gpus", self.gpus);
    visit(10, "features", self.features);
    visit(11, "address", self.address);
    visit(12, "release", self.release);
    visit(13, "boot_id", self.boot_id);
    visit(14, "alarm", self.alarm);
    visit(26, "reservation", self.reservation);
    visit(27, "reserved_from", self.reserved_from);
    visit(28, "reserved_until", self.reserved_until);
    visit(29, "drain_reason", self.drain_reason);
    visit(30, "drained_by", self.drained_by);
    visit(31, "drained_since", self.drained_since);
    visit(32, "drain_deadline", self.drain_deadline);
  }
};
struct NodesBody {
  std::vector<std::string> nodes;  // Empty: all.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes", self.nodes);
  }
};
struct NodesReply {
  std::vector<NodeRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

struct QueueRow {
  std::string name;
  bool is_default = false;
  bool open = true;
  std::int32_t priority = 0;
  Duration time_default;
  Duration time_max;
  std::uint32_t nodes = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_used = 0;
  std::uint64_t jobs_pending = 0;
  std::uint64_t jobs_running = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "is_default", self.is_default);
    visit(3, "open", self.open);
    visit(4, "priority", self.priority);
    visit(5, "time_default", self.time_default);
    visit(6, "time_max", self.time_max);
    visit(7, "nodes", self.nodes);
    visit(8, "gpus", self.gpus);
    visit(9, "gpus_used", self.gpus_used);
    visit(10, "jobs_pending", self.jobs_pending);
    visit(11, "jobs_running", self.jobs_running);
  }
};
struct QueuesReply {
  std::vector<QueueRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};
struct AccountRow {
  std::string name;
  std::string parent;
  std::vector<std::string> users;
  bool is_default = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "parent", self.parent);
    visit(3, "users", self.users);
    visit(4, "is_default", self.is_default);
  }
};
struct AccountsReply {
  std::vector<AccountRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

// status and ping (ping leaves all but release and cluster at their defaults).
struct StatusReply {
  std::string cluster;
  std::string release;
  Epoch epoch;
  Seq seq;  // Durable.
  std::uint64_t config_version = 0;
  WallTime started;
  std::string role;  // The caller's.
  std::uint32_t nodes = 0;
  std::uint32_t nodes_connected = 0;
  std::uint64_t jobs_pending = 0;
  std::uint64_t jobs_running = 0;
  bool database_connected = false;
  Seq database_seq;  // What PostgreSQL has.
  std::string database_error;
  std::uint64_t memory_kib = 0;  // Resident set of the controller.
  bool disk_full = false;
  std::vector<std::string> alarms;  // What an administrator should look at, a line each.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "cluster", self.cluster);
    visit(2, "release", self.release);
    visit(3, "epoch", self.epoch);
    visit(4, "seq", self.seq);
    visit(5, "config_version", self.config_version);
    visit(6, "started", self.started);
    visit(7, "role", self.role);
    visit(8, "nodes", self.nodes);
    visit(9, "nodes_connected", self.nodes_connected);
    visit(10, "jobs_pending", self.jobs_pending);
    visit(11, "jobs_running", self.jobs_running);
    visit(12, "database_connected", self.database_connected);
    visit(13, "database_seq", self.database_seq);
    visit(14, "database_error", self.database_error);
    visit(15, "memory_kib", self.memory_kib);
    visit(16, "disk_full", self.disk_full);
    visit(17, "alarms", self.alarms);
  }
};

// reservations: no body.
struct ReservationRow {
  std::string name;
  std::string state;  // "active", "waiting" or "over".
  std::string nodes;  // As a host list.
  std::uint32_t nodes_count = 0;
  WallTime start;  // Of the time that is on, or comes next, or was the last.
  WallTime end;
  Duration every;  // 0: once.
  std::vector<std::string> users;
  std::vector<std::string> accounts;
  bool maintenance = false;
  bool flex = false;
  bool overlap = false;
  bool stop_at_end = false;
  std::string reason;
  std::string by;
  std::vector<LicenceCount> licences;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "state", self.state);
    visit(3, "nodes", self.nodes);
    visit(4, "nodes_count", self.nodes_count);
    visit(5, "start", self.start);
    visit(6, "end", self.end);
    visit(7, "every", self.every);
    visit(8, "users", self.users);
    visit(9, "accounts", self.accounts);
    visit(10, "maintenance", self.maintenance);
    visit(11, "flex", self.flex);
    visit(12, "overlap", self.overlap);
    visit(13, "stop_at_end", self.stop_at_end);
    visit(14, "reason", self.reason);
    visit(15, "by", self.by);
    visit(16, "licences", self.licences);
  }
};
struct ReservationsReply {
  std::vector<ReservationRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

// licences: no body.
struct LicenceRow {
  std::string name;
  std::uint32_t total = 0;
  std::uint64_t used = 0;  // By jobs that run. May be above a total that was lowered.
  std::uint32_t free = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "total", self.total);
    visit(3, "used", self.used);
    visit(4, "free", self.free);
  }
};
struct LicencesReply {
  std::vector<LicenceRow> rows;  // In the order of their names.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

// ---- administration ----
struct ReservationBody {
  std::string name;
  ReservationSpec spec;  // For remove: nothing of it.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "spec", self.spec);
  }
};
struct NodeAddBody {
  std::string node;
  std::string public_key;  // Z85; empty: make a one-time join token instead.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "node", self.node);
    visit(2, "public_key", self.public_key);
  }
};
struct NodeAddReply {
  std::string token;    // Empty when a key was given.
  std::string command;  // To type on the node.
  std::uint32_t valid_seconds = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "token", self.token);
    visit(2, "command", self.command);
    visit(3, "valid_seconds", self.valid_seconds);
  }
};
// config-show: no body.
struct ConfigReply {
  std::uint64_t version = 0;
  std::string json;  // Queues, accounts and limits as applied. No addresses, no secrets.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "version", self.version);
    visit(2, "json", self.json);
  }
};
// database-skip: accounting goes on with record `next`; those before that it lacks are lost to it.
struct DatabaseSkipBody {
  Seq next;
  std::string reason;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "next", self.next);
    visit(2, "reason", self.reason);
  }
};
struct NodeChangeBody {
  std::vector<std::string> nodes;
  std::string reason;
  WallTime deadline;  // Of a drain: what still runs then is requeued; 0: none.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes", self.nodes);
    visit(2, "reason", self.reason);
    visit(26, "deadline", self.deadline);
  }
};

}  // namespace muster
