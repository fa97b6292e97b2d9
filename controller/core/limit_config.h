// Limits on what may be held at once, and on how large a job may be; and whom they are set for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/time.h"

namespace muster {

// 0: no limit.
struct Limits {
  std::uint32_t running_jobs = 0;  // Elements of an array count one by one.
  std::uint32_t queued_jobs = 0;   // That wait or run; an array counts once.
  std::uint32_t gpus = 0;          // Whole ones; shares count by their part.
  std::uint32_t cpus = 0;
  std::uint32_t nodes = 0;           // A node that two jobs share counts twice.
  std::uint64_t gpu_minutes = 0;     // Of what runs: GPUs times what is left of the time limit.
  Duration time_max;                 // Of a job.
  std::uint32_t array_elements = 0;  // Of a job.
  auto operator<=>(const Limits&) const = default;
  bool is_none() const { return *this == Limits{}; }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "running_jobs", self.running_jobs);
    visit(2, "queued_jobs", self.queued_jobs);
    visit(3, "gpus", self.gpus);
    visit(4, "cpus", self.cpus);
    visit(5, "nodes", self.nodes);
    visit(6, "gpu_minutes", self.gpu_minutes);
    visit(7, "time_max", self.time_max);
    visit(8, "array_elements", self.array_elements);
  }
};

// What an account, with those below it, has in a queue: GPUs, shares of them by their part.
struct QuotaConfig {
  std::string queue;
  std::uint32_t guaranteed = 0;
  std::optional<std::uint32_t> borrow_max;  // Beyond that, of what others leave idle. Null: all.
  std::optional<std::uint32_t> lend_max;    // Of what it leaves idle itself. Null: all.
  auto operator<=>(const QuotaConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "queue", self.queue);
    visit(2, "guaranteed", self.guaranteed);
    visit(3, "borrow_max", self.borrow_max);
    visit(4, "lend_max", self.lend_max);
  }
};

// A quality of service that jobs may ask for.
struct QosConfig {
  std::string name;
  std::int32_t priority = 0;          // Points beside the job's own.
  std::uint32_t usage_milli = 1000;   // What its use counts for in fair share.
  std::vector<std::string> accounts;  // Allowed; empty: all.
  Limits limits = {};                 // Of all its jobs.
  Limits user_limits = {};            // Of each user's jobs with it.
  Limits account_limits = {};         // Of each account's, with the accounts below.
  bool at_run_time = false;           // Set by gpuadmin: a reload leaves it as it is.
  // QOS whose jobs are stopped when a blocked job with this one needs the room, in queues that are
  // not above its own. They never go in a circle.
  std::vector<std::string> preempts = {};
  Duration preempt_after = {};  // Victims with it run so long first; their queue may say longer.
  auto operator<=>(const QosConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "priority", self.priority);
    visit(3, "usage_milli", self.usage_milli);
    visit(4, "accounts", self.accounts);
    visit(5, "limits", self.limits);
    visit(6, "user_limits", self.user_limits);
    visit(7, "account_limits", self.account_limits);
    visit(8, "at_run_time", self.at_run_time);
    visit(9, "preempts", self.preempts);
    visit(10, "preempt_after", self.preempt_after);
  }
};

struct UserConfig {
  std::string name;  // kEveryUser: those who are not named.
  Limits limits;
  bool at_run_time = false;
  auto operator<=>(const UserConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "limits", self.limits);
    visit(3, "at_run_time", self.at_run_time);
  }
};
constexpr std::string_view kEveryUser = "*";

}  // namespace muster
