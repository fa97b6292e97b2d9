// What gpuacct asks and gets: rows from PostgreSQL.
#pragma once

#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

constexpr std::uint32_t kAccountingRowsMax = 100000;
constexpr std::size_t kAccountingWordsMax = 10000;  // Values in one list of a filter.

// Empty lists and zero times mean any.
struct AccountingFilter {
  std::vector<JobId> jobs;
  std::vector<std::string> users;
  std::vector<std::string> accounts;
  std::vector<std::string> queues;
  std::vector<std::string>
      states;      // "pending", "active", "ended", or names of causes: "exited", "timed-out", …
  WallTime since;  // Rows whose time from submission to end touches [since, until).
  WallTime until;
  std::uint32_t limit = 1000;  // At most kAccountingRowsMax.
  std::vector<std::string> qos;
  auto operator<=>(const AccountingFilter&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "users", self.users);
    visit(3, "accounts", self.accounts);
    visit(4, "queues", self.queues);
    visit(5, "states", self.states);
    visit(6, "since", self.since);
    visit(7, "until", self.until);
    visit(8, "limit", self.limit);
    visit(9, "qos", self.qos);
  }
};

// One element of one job, or all elements of an array that wait for their first attempt; a pending
// job without any attempt has one row in all. Sums are over all
// attempts, place and cause are those of the last one. Usage and cost of what still runs is an
// estimate up to now.
struct AccountingRow {
  JobId job;
  Element element;
  bool is_array = false;
  std::uint32_t attempts = 0;
  Uid uid;
  std::string user;
  std::string account;
  std::string queue;
  std::string name;
  std::string state;  // "pending", "active", "ended".
  std::string cause;  // Of the last attempt, or of the end; empty while there is none.
  std::int32_t exit_status = 0;
  std::int32_t signal = 0;
  std::string by;
  std::string evidence;  // May hold hostile text.
  WallTime submitted;
  WallTime started;  // First launch; 0: never.
  WallTime ended;    // 0: not yet.
  Duration elapsed;  // Charged time.
  std::vector<std::string> nodes;
  std::vector<std::string> gpu_types;
  std::uint32_t gpus = 0;
  std::uint32_t cpus = 0;
  std::string gpu_seconds;  // Exact decimals: "1200", "0.25".
  std::string cpu_seconds;
  std::string cost;      // To a millionth.
  std::string currency;  // "EUR".
  std::string elements;  // "4-99,200" of waiting elements that share this row; else empty.
  std::string qos;       // Empty: none.
  auto operator<=>(const AccountingRow&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
    visit(3, "is_array", self.is_array);
    visit(4, "attempts", self.attempts);
    visit(5, "uid", self.uid);
    visit(6, "user", self.user);
    visit(7, "account", self.account);
    visit(8, "queue", self.queue);
    visit(9, "name", self.name);
    visit(10, "state", self.state);
    visit(11, "cause", self.cause);
    visit(12, "exit_status", self.exit_status);
    visit(13, "signal", self.signal);
    visit(14, "by", self.by);
    visit(15, "evidence", self.evidence);
    visit(16, "submitted", self.submitted);
    visit(17, "started", self.started);
    visit(18, "ended", self.ended);
    visit(19, "elapsed", self.elapsed);
    visit(20, "nodes", self.nodes);
    visit(21, "gpu_types", self.gpu_types);
    visit(22, "gpus", self.gpus);
    visit(23, "cpus", self.cpus);
    visit(24, "gpu_seconds", self.gpu_seconds);
    visit(25, "cpu_seconds", self.cpu_seconds);
    visit(26, "cost", self.cost);
    visit(27, "currency", self.currency);
    visit(28, "elements", self.elements);
    visit(29, "qos", self.qos);
  }
};

// The answer to Verb::kAccounting, whose body is an AccountingFilter.
struct AccountingReply {
  std::vector<AccountingRow> rows;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
  }
};

}  // namespace muster
