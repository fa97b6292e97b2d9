// The part of the configuration that decisions depend on. Journalled when applied, so that a replay
// sees the same.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/limit_config.h"

namespace muster {

// Among jobs of equal priority.
enum class QueueOrder : std::uint8_t {
  kSubmit,
  kShortest,  // By learned run times, aged: decide/shortest.
  kAttained,  // By GPU time had so far; others of the queue are stopped for it: decide/attained.
};
template <>
struct EnumNames<QueueOrder> {
  static constexpr std::array<std::string_view, 3> kNames{"submit", "shortest", "attained"};
};

enum class PreemptMode : std::uint8_t { kRequeue, kCancel };
template <>
struct EnumNames<PreemptMode> {
  static constexpr std::array<std::string_view, 2> kNames{"requeue", "cancel"};
};

struct QueueConfig {
  std::string name;
  std::int32_t priority = 0;
  Duration time_default;  // 0: time_max.
  Duration time_max;
  std::vector<std::string> nodes;     // Node names; empty: all.
  std::vector<std::string> accounts;  // Allowed; empty: all.
  bool open = true;                   // Accepts submissions.
  Duration kill_wait = seconds(30);
  std::uint32_t retries_max = 3;  // After faults that were not the job's own.
  bool allow_root_jobs = false;
  std::uint32_t planned_starts = 4;  // Blocked jobs that nodes are kept free for; 0: none.
  QueueOrder order = QueueOrder::kSubmit;
  bool predict = false;        // Backfill goes by learned run times; limits still bound the run.
  Limits limits = {};          // Of all its jobs.
  Limits user_limits = {};     // Of each user's.
  Limits account_limits = {};  // Of each account's, with the accounts below.
  bool at_run_time = false;    // Set by gpuadmin: a reload leaves it as it is.
  // Queues of lower priority whose jobs are stopped when a blocked job of this one needs the room.
  std::vector<std::string> preempts;
  // For jobs of this queue as victims: not before they have run so long, and what becomes of them.
  Duration preempt_after;
  PreemptMode preempt_mode = PreemptMode::kRequeue;
  // A job within its account's quota waits so long before what others borrowed is taken back.
  Duration reclaim_grace = minutes(1);
  auto operator<=>(const QueueConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "priority", self.priority);
    visit(3, "time_default", self.time_default);
    visit(4, "time_max", self.time_max);
    visit(5, "nodes", self.nodes);
    visit(6, "accounts", self.accounts);
    visit(7, "open", self.open);
    visit(8, "kill_wait", self.kill_wait);
    visit(9, "retries_max", self.retries_max);
    visit(10, "allow_root_jobs", self.allow_root_jobs);
    visit(11, "planned_starts", self.planned_starts);
    visit(12, "order", self.order);
    visit(13, "predict", self.predict);
    visit(20, "limits", self.limits);
    visit(21, "user_limits", self.user_limits);
    visit(22, "account_limits", self.account_limits);
    visit(23, "at_run_time", self.at_run_time);
    visit(26, "preempts", self.preempts);
    visit(27, "preempt_after", self.preempt_after);
    visit(28, "preempt_mode", self.preempt_mode);
    visit(40, "reclaim_grace", self.reclaim_grace);
  }
};

struct AccountConfig {
  std::string name;
  std::string parent;                    // Empty: the root.
  std::vector<std::string> users;        // Empty: every user.
  std::uint32_t shares = 1;              // Beside its siblings.
  Limits limits = {};                    // Of all its jobs, with those of the accounts below.
  Limits user_limits = {};               // Of each user's of them.
  bool at_run_time = false;              // Set by gpuadmin: a reload leaves it as it is.
  std::vector<QuotaConfig> quotas = {};  // One for a queue at most.
  auto operator<=>(const AccountConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "parent", self.parent);
    visit(3, "users", self.users);
    visit(4, "shares", self.shares);
    visit(5, "limits", self.limits);
    visit(6, "user_limits", self.user_limits);
    visit(7, "at_run_time", self.at_run_time);
    visit(20, "quotas", self.quotas);
  }
};

// What a GPU of a type counts for in fair share: an hour of an old one is not an hour of a new one.
struct GpuWeight {
  std::string type;
  std::uint32_t milli = 1000;
  auto operator<=>(const GpuWeight&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "type", self.type);
    visit(2, "milli", self.milli);
  }
};

// Points that a job gets beside its own priority: each weight times a factor from 0 to 1.
struct PriorityConfig {
  std::uint32_t fair_share = 1000;
  std::uint32_t age = 100;
  std::uint32_t size = 0;            // For asking for much of the cluster.
  Duration age_max = days(7);        // Age counts up to this.
  Duration half_life = days(7);      // Of usage.
  std::uint32_t cpu_milli = 15;      // What a CPU counts for, in thousandths of a GPU.
  std::vector<GpuWeight> gpu_types;  // Others count 1000.
  auto operator<=>(const PriorityConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "fair_share", self.fair_share);
    visit(2, "age", self.age);
    visit(3, "size", self.size);
    visit(4, "age_max", self.age_max);
    visit(5, "half_life", self.half_life);
    visit(6, "cpu_milli", self.cpu_milli);
    visit(7, "gpu_types", self.gpu_types);
  }
};

// A counter that jobs may hold some of.
struct LicenceConfig {
  std::string name;
  std::uint32_t total = 0;
  bool at_run_time = false;  // Set by gpuadmin: a reload leaves it as it is.
  auto operator<=>(const LicenceConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "total", self.total);
    visit(3, "at_run_time", self.at_run_time);
  }
};

// What nodes hang on, or what switches hang on.
struct SwitchConfig {
  std::string name;
  std::vector<std::string> nodes;     // Names; a node has one switch at most.
  std::vector<std::string> switches;  // Names; below this one, instead of nodes.
  bool block = false;                 // What --topology block means.
  auto operator<=>(const SwitchConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "name", self.name);
    visit(2, "nodes", self.nodes);
    visit(3, "switches", self.switches);
    visit(4, "block", self.block);
  }
};

struct LimitsConfig {
  std::uint64_t jobs_per_user_max = 100000;
  std::uint64_t jobs_max = 1000000;
  std::uint32_t array_elements_max = 1000000;
  Uid min_uid{1000};
  Duration suspect_after = seconds(20);
  Duration prepare_timeout = seconds(30);
  Duration forget_after = minutes(5);  // An ended job leaves memory this long after SQL has it.
  auto operator<=>(const LimitsConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "jobs_per_user_max", self.jobs_per_user_max);
    visit(2, "jobs_max", self.jobs_max);
    visit(3, "array_elements_max", self.array_elements_max);
    visit(4, "min_uid", self.min_uid);
    visit(5, "suspect_after", self.suspect_after);
    visit(6, "prepare_timeout", self.prepare_timeout);
    visit(7, "forget_after", self.forget_after);
  }
};

struct ClusterConfig {
  std::uint64_t version = 0;  // Rises with every applied configuration.
  std::string cluster;        // Its name.
  std::vector<QueueConfig> queues;
  std::string queue_default;
  std::vector<AccountConfig> accounts;
  std::string account_default;
  LimitsConfig limits;
  PriorityConfig priority;
  std::vector<LicenceConfig> licences;
  std::vector<SwitchConfig> switches;
  std::vector<QosConfig> qos;
  std::vector<UserConfig> users;
  std::vector<std::string> removed;  // By gpuadmin, as "queue day": a reload leaves them out.
  auto operator<=>(const ClusterConfig&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "version", self.version);
    visit(2, "cluster", self.cluster);
    visit(3, "queues", self.queues);
    visit(4, "queue_default", self.queue_default);
    visit(5, "accounts", self.accounts);
    visit(6, "account_default", self.account_default);
    visit(7, "limits", self.limits);
    visit(8, "priority", self.priority);
    visit(23, "licences", self.licences);
    visit(24, "switches", self.switches);
    visit(20, "qos", self.qos);
    visit(21, "users", self.users);
    visit(22, "removed", self.removed);
  }
};

}  // namespace muster
