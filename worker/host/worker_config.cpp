// The worker's TOML file.
#include "worker/host/worker_config.h"

#include <toml++/toml.h>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::uint32_t kCpusMax = 1U << 16U;

using Setter = std::function<Result<void>(const toml::node&)>;
using Keys = std::map<std::string, Setter, std::less<>>;

Error at(const toml::node& node, const std::string& what) {
  return fail(ErrorCode::kInvalid,
              "line " + std::to_string(node.source().begin.line) + ": " + what);
}

Setter text(std::string& out) {
  return [&out](const toml::node& node) -> Result<void> {
    if (!node.is_string()) return at(node, "expected a text");
    out = *node.value<std::string>();
    return {};
  };
}

Setter number(std::uint32_t& out, std::uint32_t max) {
  return [&out, max](const toml::node& node) -> Result<void> {
    const auto value = node.value<std::int64_t>();
    if (!node.is_integer() || *value < 0 || *value > std::int64_t{max}) {
      return at(node, "expected a number from 0 to " + std::to_string(max));
    }
    out = static_cast<std::uint32_t>(*value);
    return {};
  };
}

Setter memory(std::uint64_t& out) {
  return [&out](const toml::node& node) -> Result<void> {
    if (!node.is_string()) return at(node, "expected a size, such as \"16G\"");
    const auto size = parse_memory_mib(*node.value<std::string>());
    if (!size) return at(node, size.error().message);
    out = *size;
    return {};
  };
}

Setter duration(Duration& out) {
  return [&out](const toml::node& node) -> Result<void> {
    if (!node.is_string()) return at(node, "expected a time, such as \"20s\"");
    const auto value = parse_duration(*node.value<std::string>());
    if (!value) return at(node, value.error().message);
    out = *value;
    return {};
  };
}

Setter texts(std::vector<std::string>& out) {
  return [&out](const toml::node& node) -> Result<void> {
    if (!node.is_array()) return at(node, "expected a list of texts");
    out.clear();
    for (const toml::node& item : *node.as_array()) {
      if (!item.is_string()) return at(item, "expected a text");
      out.push_back(*item.value<std::string>());
    }
    return {};
  };
}

Result<void> read_table(const toml::table& table, const Keys& keys) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const auto found = keys.find(name);
    if (found == keys.end()) {
      std::vector<std::string_view> known;
      for (const auto& [word, setter] : keys) known.push_back(word);
      const std::string_view near = nearest_match(name, known);
      return at(node, "unknown key \"" + escape_for_terminal(name) + "\"" +
                          (near.empty() ? std::string()
                                        : "; did you mean \"" + std::string(near) + "\"?"));
    }
    const Result<void> set = found->second(node);
    if (!set) return fail(ErrorCode::kInvalid, set.error().message + " for " + name);
  }
  return {};
}

Setter section(const Keys& keys) {
  return [&keys](const toml::node& node) -> Result<void> {
    if (!node.is_table()) return at(node, "expected a section");
    return read_table(*node.as_table(), keys);
  };
}

Result<void> read_root(const toml::table& root, WorkerConfig& config) {
  const Keys gpu{{"plugin", text(config.gpu_plugin)},
                 {"config", text(config.gpu_config)},
                 {"deadline", duration(config.gpu_deadline)},
                 {"refresh", duration(config.gpu_refresh)}};
  const Keys resources{{"cpus", number(config.cpus, kCpusMax)},
                       {"memory", memory(config.memory_mib)},
                       {"cpus_reserved", number(config.cpus_reserved, kCpusMax)},
                       {"memory_reserved", memory(config.memory_reserved_mib)},
                       {"topology", text(config.topology)},
                       {"features", texts(config.features)}};
  const Keys network{{"interface", text(config.interface)},
                     {"address", text(config.address)},
                     {"switch", text(config.switch_name)}};
  const Keys log{{"file", text(config.log_file)}, {"level", text(config.log_level)}};
  const Keys keys{{"node", text(config.node)},
                  {"controller", text(config.controller)},
                  {"bulk", text(config.bulk)},
                  {"server_key", text(config.server_key)},
                  {"key_file", text(config.key_file)},
                  {"launcher", text(config.launcher)},
                  {"state_dir", text(config.state_dir)},
                  {"gpu", section(gpu)},
                  {"resources", section(resources)},
                  {"network", section(network)},
                  {"log", section(log)}};
  return read_table(root, keys);
}

}  // namespace

Result<void> read_worker_config(const std::string& path, WorkerConfig& config) {
  std::ifstream file(path);
  std::stringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return fail(ErrorCode::kNotFound, path + ": cannot be read: " + std::strerror(errno));
  }
  try {
    const Result<void> read = read_root(toml::parse(bytes.str()), config);
    if (!read) return fail(ErrorCode::kInvalid, path + ": " + read.error().message);
    return {};
  } catch (const toml::parse_error& problem) {
    return fail(ErrorCode::kInvalid, path + ": line " +
                                         std::to_string(problem.source().begin.line) + ": " +
                                         std::string(problem.description()));
  }
}

Result<void> check_worker_config(const WorkerConfig& config) {
  const Result<void> name = check_name(config.node);
  if (!name) return fail(ErrorCode::kInvalid, "node: " + name.error().message);
  const std::pair<const char*, const std::string*> needed[] = {{"controller", &config.controller},
                                                               {"server_key", &config.server_key},
                                                               {"key_file", &config.key_file},
                                                               {"launcher", &config.launcher},
                                                               {"state_dir", &config.state_dir}};
  for (const auto& [key, value] : needed) {
    if (value->empty()) return fail(ErrorCode::kInvalid, std::string(key) + " is missing");
  }
  if (!config.interface.empty() && !config.address.empty()) {
    return fail(ErrorCode::kInvalid, "network: give an interface or an address, not both");
  }
  if (!config.switch_name.empty()) {
    const Result<void> checked = check_name(config.switch_name);
    if (!checked) return fail(ErrorCode::kInvalid, "switch: " + checked.error().message);
  }
  for (const std::string& feature : config.features) {
    const Result<void> checked = check_name(feature);
    if (!checked) return fail(ErrorCode::kInvalid, "features: " + checked.error().message);
  }
  return {};
}

}  // namespace muster
