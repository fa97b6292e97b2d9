// Objects in the words of the configuration file: a change is a table of that file, read over what
// there is.
#include "controller/host/config_objects.h"

#include <algorithm>

#include "base/types/hostlist.h"
#include "base/types/text.h"
#include "controller/config/cluster_reader.h"
#include "controller/config/object_reader.h"
#include "controller/config/setting.h"

namespace muster {
namespace {

Error invalid(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

template <class Object>
Result<void> read_over(const ObjectChangeBody& change, Object& object,
                       void (*read)(TomlTable&, Object&)) {
  std::vector<Setting> settings;
  for (const ObjectSetting& setting : change.settings)
    settings.push_back({setting.key, setting.value});
  object.at_run_time = true;
  return read_settings(settings, [&](TomlTable& table) { read(table, object); });
}

template <class Object>
Result<void> change_in(std::vector<Object>& all, const ObjectChangeBody& change,
                       void (*read)(TomlTable&, Object&)) {
  const std::string kind(name_of(change.kind));
  const std::string shown = kind + " " + escape_for_terminal(change.name);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Object& one) { return one.name == change.name; });
  const bool is_there = found != all.end();
  if (change.verb == ObjectVerb::kAdd && is_there)
    return fail(ErrorCode::kConflict, shown + " is there already; change it with set");
  // Every user may be limited without having been added.
  const bool makes = change.verb == ObjectVerb::kAdd ||
                     (change.verb == ObjectVerb::kSet && change.kind == ObjectKind::kUser);
  if (!is_there && !makes) {
    std::vector<std::string_view> names;
    for (const Object& one : all) names.push_back(one.name);
    const std::string near(nearest_match(change.name, names));
    return fail(ErrorCode::kNotFound,
                "there is no " + shown + (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  if (change.verb == ObjectVerb::kRemove) {
    all.erase(found);
    return {};
  }
  if (change.verb == ObjectVerb::kSet && change.settings.empty())
    return invalid("set: nothing to change; give KEY=VALUE");
  if (is_there) return read_over(change, *found, read);
  Object added;
  added.name = change.name;
  all.push_back(added);
  return read_over(change, all.back(), read);
}

// Collects what is not as an untouched object has it.
class Rows {
 public:
  template <class Object>
  void begin(ObjectKind kind, const Object& object) {
    row_ = ObjectRow{kind, object.name, false, object.at_run_time, {}};
  }
  void number(const std::string& key, std::int64_t value, std::int64_t usual) {
    if (value != usual) add(key, std::to_string(value));
  }
  void truth(const std::string& key, bool value, bool usual) {
    if (value != usual) add(key, value ? "true" : "false");
  }
  void time(const std::string& key, Duration value, Duration usual) {
    if (value != usual) add(key, quoted_text(value == Duration{} ? "0" : to_text(value)));
  }
  void text(const std::string& key, const std::string& value) {
    if (!value.empty()) add(key, quoted_text(value));
  }
  void list(const std::string& key, const std::vector<std::string>& value) {
    if (!value.empty()) add(key, list_text(value));
  }
  void limits(const std::string& key, const Limits& limits) {
    number(key + ".running_jobs", limits.running_jobs, 0);
    number(key + ".queued_jobs", limits.queued_jobs, 0);
    number(key + ".gpus", limits.gpus, 0);
    number(key + ".cpus", limits.cpus, 0);
    number(key + ".nodes", limits.nodes, 0);
    number(key + ".gpu_minutes", static_cast<std::int64_t>(limits.gpu_minutes), 0);
    time(key + ".time_max", limits.time_max, {});
    number(key + ".array_elements", limits.array_elements, 0);
  }
  // What is there although it says nothing stays there.
  void quota(const QuotaConfig& quota) {
    const bool is_plain = quota.queue.find('.') == std::string::npos;
    const std::string key = "quota." + (is_plain ? quota.queue : quoted_text(quota.queue));
    number(key + ".guaranteed", quota.guaranteed, -1);
    if (quota.borrow_max) number(key + ".borrow_max", *quota.borrow_max, -1);
    if (quota.lend_max) number(key + ".lend_max", *quota.lend_max, -1);
  }
  ObjectRow take() { return std::move(row_); }

 private:
  void add(const std::string& key, std::string value) {
    row_.settings.push_back({key, std::move(value)});
  }
  ObjectRow row_;
};

ObjectRow row_of(const QueueConfig& queue) {
  const QueueConfig usual;
  Rows row;
  row.begin(ObjectKind::kQueue, queue);
  row.number("priority", queue.priority, usual.priority);
  row.time("time_default", queue.time_default, {});
  row.time("time_max", queue.time_max, {});
  if (!queue.nodes.empty()) row.list("nodes", {compress_hostlist(queue.nodes)});
  row.list("accounts", queue.accounts);
  row.truth("open", queue.open, usual.open);
  row.time("kill_wait", queue.kill_wait, usual.kill_wait);
  row.number("retries_max", queue.retries_max, usual.retries_max);
  row.number("planned_starts", queue.planned_starts, usual.planned_starts);
  if (queue.order != usual.order) row.text("order", std::string(name_of(queue.order)));
  row.truth("predict", queue.predict, usual.predict);
  row.list("preempts", queue.preempts);
  row.time("preempt_after", queue.preempt_after, usual.preempt_after);
  row.time("reclaim_grace", queue.reclaim_grace, usual.reclaim_grace);
  if (queue.preempt_mode != usual.preempt_mode)
    row.text("preempt_mode", std::string(name_of(queue.preempt_mode)));
  row.truth("allow_root_jobs", queue.allow_root_jobs, usual.allow_root_jobs);
  row.limits("limits", queue.limits);
  row.limits("user_limits", queue.user_limits);
  row.limits("account_limits", queue.account_limits);
  return row.take();
}

ObjectRow row_of(const AccountConfig& account) {
  Rows row;
  row.begin(ObjectKind::kAccount, account);
  row.text("parent", account.parent);
  row.list("users", account.users);
  row.number("shares", account.shares, 1);
  row.limits("limits", account.limits);
  row.limits("user_limits", account.user_limits);
  for (const QuotaConfig& quota : account.quotas) row.quota(quota);
  return row.take();
}

ObjectRow row_of(const QosConfig& qos) {
  const QosConfig usual;
  Rows row;
  row.begin(ObjectKind::kQos, qos);
  row.number("priority", qos.priority, usual.priority);
  row.number("usage_milli", qos.usage_milli, usual.usage_milli);
  row.list("accounts", qos.accounts);
  row.list("preempts", qos.preempts);
  row.time("preempt_after", qos.preempt_after, usual.preempt_after);
  row.limits("limits", qos.limits);
  row.limits("user_limits", qos.user_limits);
  row.limits("account_limits", qos.account_limits);
  return row.take();
}

ObjectRow row_of(const UserConfig& user) {
  Rows row;
  row.begin(ObjectKind::kUser, user);
  row.limits("limits", user.limits);
  return row.take();
}

ObjectRow row_of(const LicenceConfig& licence) {
  Rows row;
  row.begin(ObjectKind::kLicence, licence);
  row.number("total", licence.total, -1);
  return row.take();
}

}  // namespace

ObjectsReply objects_of(const ClusterConfig& config) {
  ObjectsReply reply;
  for (const QueueConfig& queue : config.queues) {
    reply.rows.push_back(row_of(queue));
    reply.rows.back().is_default = queue.name == config.queue_default;
  }
  for (const AccountConfig& account : config.accounts) {
    reply.rows.push_back(row_of(account));
    reply.rows.back().is_default = account.name == config.account_default;
  }
  for (const QosConfig& qos : config.qos) reply.rows.push_back(row_of(qos));
  for (const UserConfig& user : config.users) reply.rows.push_back(row_of(user));
  for (const LicenceConfig& licence : config.licences) reply.rows.push_back(row_of(licence));
  reply.removed = config.removed;
  return reply;
}

Result<ClusterConfig> change_object(const ClusterConfig& now, const ObjectChangeBody& change) {
  ClusterConfig next = now;
  const auto changed = [&]() -> Result<void> {
    switch (change.kind) {
      case ObjectKind::kQueue:
        return change_in(next.queues, change, read_queue);
      case ObjectKind::kAccount:
        return change_in(next.accounts, change, read_account);
      case ObjectKind::kQos:
        return change_in(next.qos, change, read_qos);
      case ObjectKind::kLicence:
        return change_in(next.licences, change, read_licence);
      case ObjectKind::kUser:
        break;
    }
    return change_in(next.users, change, read_user);
  }();
  if (!changed) return changed.error();
  const std::string what = std::string(name_of(change.kind)) + " " + change.name;
  next.removed.erase(std::remove(next.removed.begin(), next.removed.end(), what),
                     next.removed.end());
  if (change.verb == ObjectVerb::kRemove) next.removed.push_back(what);
  return next;
}

std::string text_of(const ObjectChangeBody& change) {
  std::string text = std::string(name_of(change.kind)) + " " + std::string(name_of(change.verb)) +
                     " " + change.name;
  for (const ObjectSetting& setting : change.settings)
    text += " " + setting.key + "=" + setting.value;
  return text;
}

}  // namespace muster
