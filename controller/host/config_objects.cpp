// Objects in the words of the configuration file: a change is a table of that file, read over what
// there is.
#include "controller/host/config_objects.h"

#include <algorithm>
#include <array>

#include "base/types/hostlist.h"
#include "base/types/text.h"
#include "controller/host/object_reader.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kLists{"accounts", "users", "nodes", "preempts"};
constexpr std::array<std::string_view, 6> kTexts{"parent",    "time_default", "time_max",
                                                 "kill_wait", "name",         "reclaim_grace"};

Error invalid(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view last_word(std::string_view key) { return key.substr(key.rfind('.') + 1); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + "\"";
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quoted(name);
  return "[" + text + "]";
}

// What the file would say for a value from a command line.
std::string toml_value(std::string_view key, std::string_view value) {
  const std::string_view word = last_word(key);
  if (is_in(kLists, word)) {
    std::vector<std::string> names;
    std::size_t depth = 0;
    std::string name;
    for (const char c : value) {  // Commas within brackets belong to a host list.
      depth += c == '[' ? 1 : 0;
      depth -= c == ']' && depth != 0 ? 1 : 0;
      if (c == ',' && depth == 0)
        names.push_back(std::exchange(name, ""));
      else
        name += c;
    }
    if (!name.empty()) names.push_back(name);
    return list_text(names);
  }
  const bool is_number = !value.empty() && value.size() < 19 &&
                         std::all_of(value.begin() + (value[0] == '-' ? 1 : 0), value.end(),
                                     [](char c) { return c >= '0' && c <= '9'; }) &&
                         value != "-" &&
                         (value == "0" || (value[0] != '0' && !value.starts_with("-0")));
  if (!is_in(kTexts, word) && (is_number || value == "true" || value == "false"))
    return std::string(value);
  return quoted(value);
}

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= 64 && key.front() != '.' && key.back() != '.' &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

Result<std::string> toml_of(const ObjectChangeBody& change) {
  if (change.settings.size() > kSettingsMax)
    return invalid("more than " + std::to_string(kSettingsMax) + " settings at once");
  std::string text = "[object]\n";
  for (const ObjectSetting& setting : change.settings) {
    if (!is_key(setting.key) || setting.key == "name")
      return invalid("unknown setting \"" + escape_for_terminal(setting.key.substr(0, 64)) + "\"");
    if (setting.value.size() > kSettingBytesMax) return invalid(setting.key + ": is too long");
    text += setting.key + " = " + toml_value(setting.key, setting.value) + "\n";
  }
  return text;
}

// "set:3: object.limits.gpus: must be …" without what only files have.
std::string without_place(const std::string& problem) {
  const std::size_t colon = problem.find(": ");
  std::string text = colon == std::string::npos ? problem : problem.substr(colon + 2);
  for (std::size_t at = text.find("object."); at != std::string::npos; at = text.find("object."))
    text.erase(at, 7);
  return text;
}

template <class Object>
Result<void> read_over(const ObjectChangeBody& change, Object& object,
                       void (*read)(TomlTable&, Object&)) {
  const auto text = toml_of(change);
  if (!text) return text.error();
  TomlDocument document;
  if (const auto parsed = document.parse(*text, "set"); !parsed)
    return invalid("settings: " + without_place(parsed.error().message));
  TomlTable root = TomlTable::root(document);
  TomlTable table = root.table("object");
  read(table, object);
  object.at_run_time = true;
  if (document.problems().empty()) return {};
  return invalid(without_place(document.problems().front()));
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
    if (value != usual) add(key, quoted(value == Duration{} ? "0" : to_text(value)));
  }
  void text(const std::string& key, const std::string& value) {
    if (!value.empty()) add(key, quoted(value));
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
    const std::string key = "quota." + (is_plain ? quota.queue : quoted(quota.queue));
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
