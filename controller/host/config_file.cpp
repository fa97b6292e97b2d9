// Reads and checks the controller's configuration.
#include "controller/host/config_file.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "controller/config/cluster_reader.h"
#include "controller/config/object_reader.h"
#include "controller/config/toml_reader.h"
#include "controller/core/config_check.h"

namespace muster {

namespace {

void read_name(TomlTable& table, std::set<std::string>& seen, std::string& out) {
  table.read("name", out);
  if (!is_config_name(out)) {
    table.complain("name", "must be given: 1 to 128 of the characters A-Z a-z 0-9 . _ -");
  } else if (!seen.insert(out).second) {
    table.complain("name", "'" + out + "' is given twice");
  }
}

void read_key(TomlTable& table, std::string& out) {
  table.read("key", out);
  if (out.size() != 40) {
    table.complain(
        "key",
        "must be a public key of 40 characters, as printed by 'muster-controller --make-key FILE'");
  }
}

void read_queues(TomlTable& root, ClusterConfig& cluster) {
  std::set<std::string> seen;
  for (TomlTable& table : root.tables("queue")) {
    QueueConfig queue;
    read_name(table, seen, queue.name);
    read_queue(table, queue);
    cluster.queues.push_back(queue);
  }
  if (cluster.queues.empty()) {
    QueueConfig queue;
    queue.name = "main";
    queue.time_default = hours(1);
    queue.time_max = days(7);
    cluster.queues.push_back(queue);
    seen.insert(queue.name);
  }
  root.read("queue_default", cluster.queue_default);
  if (cluster.queue_default.empty()) cluster.queue_default = cluster.queues.front().name;
  if (!seen.contains(cluster.queue_default)) {
    root.complain("queue_default", "no queue is named '" + cluster.queue_default + "'");
  }
}

void read_accounts(TomlTable& root, ClusterConfig& cluster) {
  std::set<std::string> seen;
  for (TomlTable& table : root.tables("account")) {
    AccountConfig account;
    read_name(table, seen, account.name);
    read_account(table, account);
    if (!account.parent.empty() &&
        (account.parent == account.name || !seen.contains(account.parent))) {
      table.complain("parent", "no account named '" + account.parent + "' stands above this one");
    }
    cluster.accounts.push_back(account);
  }
  if (cluster.accounts.empty()) {
    cluster.accounts.push_back({"default", "", {}});
    seen.insert("default");
  }
  root.read("account_default", cluster.account_default);
  if (cluster.account_default.empty()) cluster.account_default = cluster.accounts.front().name;
  if (!seen.contains(cluster.account_default)) {
    root.complain("account_default", "no account is named '" + cluster.account_default + "'");
  }
  for (const QueueConfig& queue : cluster.queues) {
    for (const std::string& name : queue.accounts) {
      if (!seen.contains(name))
        root.complain("queue", "queue '" + queue.name + "' names no such account: '" + name + "'");
    }
  }
}

void read_all_qos(TomlTable& root, ClusterConfig& cluster) {
  std::set<std::string> seen;
  std::vector<TomlTable> tables = root.tables("qos");
  for (TomlTable& table : tables) {
    QosConfig qos;
    read_name(table, seen, qos.name);
    read_qos(table, qos);
    for (const std::string& name : qos.accounts) {
      const bool known =
          std::any_of(cluster.accounts.begin(), cluster.accounts.end(),
                      [&](const AccountConfig& account) { return account.name == name; });
      if (!known) table.complain("accounts", "there is no account '" + name + "'");
    }
    cluster.qos.push_back(qos);
  }
  if (const auto flaw = qos_flaw(cluster.qos)) tables[flaw->index].complain("preempts", flaw->text);
}

void read_users(TomlTable& root, ClusterConfig& cluster) {
  std::set<std::string> seen;
  for (TomlTable& table : root.tables("user")) {
    UserConfig user;
    table.read("name", user.name);
    if (user.name != kEveryUser && !is_config_name(user.name))
      table.complain("name", "must be given: a user's name, or \"*\" for all who are not named");
    else if (!seen.insert(user.name).second)
      table.complain("name", "'" + user.name + "' is given twice");
    read_user(table, user);
    cluster.users.push_back(user);
  }
}

void read_weights(TomlTable& root, std::vector<GpuWeight>& weights) {
  std::set<std::string> seen;
  for (TomlTable& table : root.tables("gpu_weight")) {
    GpuWeight weight;
    table.read("type", weight.type);
    if (weight.type.empty() || !seen.insert(weight.type).second)
      table.complain("type", "must name a type of GPU, each once");
    read_gpu_weight(table, weight);
    weights.push_back(weight);
  }
}

void read_licences(TomlTable& root, std::vector<LicenceConfig>& licences) {
  std::set<std::string> seen;
  for (TomlTable& table : root.tables("licence")) {
    LicenceConfig licence;
    read_name(table, seen, licence.name);
    read_licence(table, licence);
    licences.push_back(licence);
  }
}

void read_switches(TomlTable& root, std::vector<SwitchConfig>& switches) {
  std::set<std::string> seen;
  for (TomlTable& table : root.tables("switch")) {
    SwitchConfig each;
    read_name(table, seen, each.name);
    read_switch(table, each);
    switches.push_back(each);
  }
  const Result<void> checked = check_switches(switches);
  if (!checked) root.complain("switch", checked.error().message);
}

void read_scheduling(TomlTable& root, ClusterConfig& cluster) {
  TomlTable limits = root.table("limits");
  read_limits(limits, cluster.limits);
  TomlTable priority = root.table("priority");
  read_priority(priority, cluster.priority);
  read_weights(root, cluster.priority.gpu_types);
  read_licences(root, cluster.licences);
  read_switches(root, cluster.switches);
}

void read_endpoint(TomlTable& table, const char* key, std::string& out) {
  table.read(key, out);
  const auto colon = out.rfind(':');
  const bool has_port =
      colon != std::string::npos && colon + 1 < out.size() &&
      std::all_of(out.begin() + static_cast<std::ptrdiff_t>(colon) + 1, out.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0 || c == '*'; });
  if (!out.starts_with("tcp://") || !has_port) {
    table.complain(key, "must be an address such as \"tcp://10.0.0.1:7601\"");
  }
}

void read_listen(TomlTable& root, HostConfig& config) {
  TomlTable table = root.table("listen");
  read_endpoint(table, "workers", config.listen.workers);
  read_endpoint(table, "gateways", config.listen.gateways);
  read_endpoint(table, "bulk", config.listen.bulk);
  read_endpoint(table, "enrol", config.listen.enrol);
  table.finish();
}

void read_peers(TomlTable& root, HostConfig& config) {
  std::set<std::string> gateways;
  for (TomlTable& table : root.tables("gateway")) {
    GatewayKey gateway;
    read_name(table, gateways, gateway.name);
    read_key(table, gateway.public_key);
    table.read("admin", gateway.admin);
    table.finish();
    config.gateways.push_back(gateway);
  }
  std::set<std::string> nodes;
  for (TomlTable& table : root.tables("node")) {
    NodeKey node;
    read_name(table, nodes, node.name);
    read_key(table, node.public_key);
    table.finish();
    config.nodes.push_back(node);
  }
}

void read_submit_policy(TomlTable& root, HostConfig::SubmitPolicy& policy) {
  TomlTable table = root.table("submit_policy");
  table.read("program", policy.program);
  table.read("timeout", policy.timeout);
  table.read("user", policy.user);
  std::string on_failure = "refuse";
  table.read("on_failure", on_failure);
  policy.allow_on_failure = on_failure == "allow";
  if (!policy.program.empty() && !policy.program.starts_with("/"))
    table.complain("program", "must be an absolute path");
  if (policy.timeout < seconds(1) || policy.timeout > minutes(1))
    table.complain("timeout", "must be 1s to 1m");
  if (policy.user.empty() || policy.user == "root")
    table.complain("user", "must be an ordinary user");
  if (on_failure != "allow" && on_failure != "refuse")
    table.complain("on_failure", "must be \"refuse\" or \"allow\"");
  table.finish();
}

void read_host(TomlTable& root, HostConfig& config) {
  root.read("cluster", config.cluster.cluster);
  if (!is_config_name(config.cluster.cluster)) {
    root.complain("cluster", "must be given: the cluster's name, 1 to 128 of A-Z a-z 0-9 . _ -");
  }
  root.read("state_dir", config.state_dir);
  if (!config.state_dir.starts_with("/"))
    root.complain("state_dir", "must be given, as an absolute path");
  root.read("audit_file", config.audit_file);
  if (config.audit_file.empty()) config.audit_file = config.state_dir + "/audit.jsonl";
  root.read("query_threads", config.query_threads, 1, 64);
  TomlTable database = root.table("database");
  database.read("conninfo", config.database);
  database.finish();
  TomlTable roles = root.table("roles");
  roles.read("admins", config.roles.admins);
  roles.read("admin_groups", config.roles.admin_groups);
  roles.read("operators", config.roles.operators);
  roles.read("operator_groups", config.roles.operator_groups);
  roles.finish();
  TomlTable log = root.table("log");
  log.read("file", config.log.file);
  log.read("level", config.log.level);
  static const std::vector<std::string> levels{"trace", "debug", "info", "warn", "error"};
  if (std::find(levels.begin(), levels.end(), config.log.level) == levels.end()) {
    log.complain("level", "must be one of trace, debug, info, warn, error");
  }
  log.finish();
}

}  // namespace

Result<HostConfig> parse_config(const std::string& text, const std::string& path) {
  TomlDocument document;
  const auto parsed = document.parse(text, path);
  if (!parsed) return parsed.error();
  HostConfig config;
  config.path = path;
  TomlTable root = TomlTable::root(document);
  read_host(root, config);
  read_listen(root, config);
  read_peers(root, config);
  read_submit_policy(root, config.submit_policy);
  read_queues(root, config.cluster);
  read_accounts(root, config.cluster);
  read_all_qos(root, config.cluster);
  read_users(root, config.cluster);
  read_scheduling(root, config.cluster);
  root.finish();
  if (document.problems().empty()) {
    const Result<void> quotas = check_quotas(config.cluster);
    if (quotas) return config;
    root.complain("account", quotas.error().message);
  }
  std::string all;
  for (const std::string& problem : document.problems()) all += (all.empty() ? "" : "\n") + problem;
  return fail(ErrorCode::kInvalid, all);
}

Result<HostConfig> load_config(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return fail(ErrorCode::kNotFound,
                path + ": cannot be read; give the file's path with --config FILE");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_config(text.str(), path);
}

}  // namespace muster
