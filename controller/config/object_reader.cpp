// Reads the objects that jobs name.
#include "controller/config/object_reader.h"

#include <algorithm>
#include <cctype>

#include "base/types/hostlist.h"
#include "base/types/job_spec.h"

namespace muster {
namespace {

constexpr std::uint32_t kLimitMax = 1000000000;
constexpr std::uint64_t kGpuMinutesMax = 1000000000000;  // Times 60,000 it still fits in 64 bits.

void read_nodes(TomlTable& table, std::vector<std::string>& out) {
  std::vector<std::string> lists = out;
  table.read("nodes", lists);
  out.clear();
  for (const std::string& list : lists) {
    const auto names = parse_hostlist(list);
    if (!names) {
      table.complain("nodes", names.error().message);
      continue;
    }
    out.insert(out.end(), names->begin(), names->end());
  }
}

void read_limits_of(TomlTable& owner, const char* key, Limits& limits) {
  TomlTable table = owner.table(key);
  table.read("running_jobs", limits.running_jobs, 0, kLimitMax);
  table.read("queued_jobs", limits.queued_jobs, 0, kLimitMax);
  table.read("gpus", limits.gpus, 0, kLimitMax);
  table.read("cpus", limits.cpus, 0, kLimitMax);
  table.read("nodes", limits.nodes, 0, kLimitMax);
  table.read("gpu_minutes", limits.gpu_minutes, 0, kGpuMinutesMax);
  table.read_or_none("time_max", limits.time_max);
  table.read("array_elements", limits.array_elements, 0, kArrayElementsMax);
  table.finish();
}

// "none" takes away what was set.
void read_count(TomlTable& table, const char* key, std::optional<std::uint32_t>& out) {
  if (table.is_none(key)) return out.reset();
  constexpr std::uint32_t kUnsaid = kLimitMax + 1;
  std::uint32_t count = kUnsaid;
  table.read(key, count, 0, kLimitMax);
  if (count != kUnsaid) out = count;
}

// A table for each queue, by its name; "none" instead: no quota of it.
void read_quotas(TomlTable& owner, std::vector<QuotaConfig>& quotas) {
  TomlTable all = owner.table("quota");
  const std::vector<std::string> queues = all.keys();
  for (const std::string& queue : queues) {
    auto quota = std::find_if(quotas.begin(), quotas.end(),
                              [&](const QuotaConfig& one) { return one.queue == queue; });
    if (all.is_none(queue.c_str())) {
      if (quota != quotas.end()) quotas.erase(quota);
      continue;
    }
    TomlTable table = all.table(queue.c_str());
    if (quota == quotas.end()) quota = quotas.insert(quota, {queue, 0, {}, {}});
    table.read("guaranteed", quota->guaranteed, 0, kLimitMax);
    read_count(table, "borrow_max", quota->borrow_max);
    read_count(table, "lend_max", quota->lend_max);
    if (quota->lend_max && *quota->lend_max > quota->guaranteed)
      table.complain("lend_max", "is more than guaranteed");
    table.finish();
  }
}

}  // namespace

bool is_config_name(const std::string& text) {
  if (text.empty() || text.size() > kNameBytesMax) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

namespace {

void read_order(TomlTable& table, QueueConfig& queue) {
  std::string order(name_of(queue.order));
  table.read("order", order);
  if (!enum_from_name(order, queue.order))
    table.complain("order", "must be \"submit\", \"shortest\" or \"attained\"");
  table.read("predict", queue.predict);
}

void read_preemption(TomlTable& table, QueueConfig& queue) {
  table.read("preempts", queue.preempts);
  table.read("preempt_after", queue.preempt_after);
  table.read_or_none("reclaim_grace", queue.reclaim_grace);
  std::string mode(name_of(queue.preempt_mode));
  table.read("preempt_mode", mode);
  if (!enum_from_name(mode, queue.preempt_mode))
    table.complain("preempt_mode", "must be \"requeue\" or \"cancel\"");
  if (!queue.preempts.empty() && queue.planned_starts == 0)
    table.complain("preempts", "needs planned_starts of at least 1: room is made for those only");
}

}  // namespace

void read_queue(TomlTable& table, QueueConfig& queue) {
  table.read("priority", queue.priority, -1000000, 1000000);
  table.read_or_none("time_default", queue.time_default);
  table.read_or_none("time_max", queue.time_max);
  read_nodes(table, queue.nodes);
  table.read("accounts", queue.accounts);
  table.read("open", queue.open);
  table.read("kill_wait", queue.kill_wait);
  table.read("retries_max", queue.retries_max, 0, 1000);
  table.read("planned_starts", queue.planned_starts, 0, 1000);
  read_order(table, queue);
  read_preemption(table, queue);
  table.read("allow_root_jobs", queue.allow_root_jobs);
  read_limits_of(table, "limits", queue.limits);
  read_limits_of(table, "user_limits", queue.user_limits);
  read_limits_of(table, "account_limits", queue.account_limits);
  if (queue.time_max == Duration{} && queue.time_default == Duration{}) {
    table.complain("name",
                   "queue '" + queue.name + "' has no time limit; set time_max, or time_default");
  }
  if (queue.time_max != Duration{} && queue.time_default > queue.time_max) {
    table.complain("time_default", "is longer than time_max");
  }
  table.finish();
}

void read_account(TomlTable& table, AccountConfig& account) {
  table.read("parent", account.parent);
  table.read("users", account.users);
  table.read("shares", account.shares, 1, 1000000);
  read_limits_of(table, "limits", account.limits);
  read_limits_of(table, "user_limits", account.user_limits);
  read_quotas(table, account.quotas);
  table.finish();
}

void read_qos(TomlTable& table, QosConfig& qos) {
  table.read("priority", qos.priority, -1000000, 1000000);
  table.read("usage_milli", qos.usage_milli, 0, 1000000);
  table.read("accounts", qos.accounts);
  table.read("preempts", qos.preempts);
  table.read("preempt_after", qos.preempt_after);
  read_limits_of(table, "limits", qos.limits);
  read_limits_of(table, "user_limits", qos.user_limits);
  read_limits_of(table, "account_limits", qos.account_limits);
  table.finish();
}

void read_user(TomlTable& table, UserConfig& user) {
  read_limits_of(table, "limits", user.limits);
  table.finish();
}

}  // namespace muster
