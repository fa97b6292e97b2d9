// A setting is a table of the file with one key in it.
#include "controller/config/setting.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/types/text.h"
#include "controller/config/cluster_reader.h"
#include "controller/config/object_reader.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 5> kLists{"accounts", "users", "nodes", "preempts",
                                                 "switches"};
constexpr std::array<std::string_view, 6> kTexts{"parent",    "time_default", "time_max",
                                                 "kill_wait", "name",         "reclaim_grace"};

Error invalid(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view last_word(std::string_view key) { return key.substr(key.rfind('.') + 1); }

std::vector<std::string> names_in(std::string_view value) {
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
  return names;
}

// What the file would say for a value from a command line.
std::string toml_value(const Setting& setting) {
  const std::string_view word = last_word(setting.key);
  const std::string& value = setting.value;
  // "nodes" is a number as a limit.
  const bool is_limit = setting.key.find("limits.") != std::string::npos;
  if (is_in(kLists, word) && !is_limit) return list_text(names_in(value));
  const bool is_number = !value.empty() && value.size() < 19 &&
                         std::all_of(value.begin() + (value[0] == '-' ? 1 : 0), value.end(),
                                     [](char c) { return c >= '0' && c <= '9'; }) &&
                         value != "-" &&
                         (value == "0" || (value[0] != '0' && !value.starts_with("-0")));
  if (!is_in(kTexts, word) && (is_number || value == "true" || value == "false")) return value;
  return quoted_text(value);
}

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= 64 && key.front() != '.' && key.back() != '.' &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

Result<std::string> toml_of(const std::vector<Setting>& settings) {
  if (settings.size() > kSettingsMax)
    return invalid("more than " + std::to_string(kSettingsMax) + " settings at once");
  std::string text = "[object]\n";
  for (const Setting& setting : settings) {
    if (!is_key(setting.key) || setting.key == "name")
      return invalid("unknown setting \"" + escape_for_terminal(setting.key.substr(0, 64)) + "\"");
    if (setting.value.size() > kSettingBytesMax) return invalid(setting.key + ": is too long");
    text += setting.key + " = " + toml_value(setting) + "\n";
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

Error bad(const std::string& text, const std::string& why) {
  return invalid("'" + escape_for_terminal(text) + "': " + why);
}

std::string& name_of_object(GpuWeight& weight) { return weight.type; }
template <class Object>
std::string& name_of_object(Object& object) {
  return object.name;
}

// "day.limits.gpus" into the object named day; names may hold dots.
template <class Object>
Result<void> set_in(std::vector<Object>& all, const std::string& path, const std::string& value,
                    void (*read)(TomlTable&, Object&)) {
  Object* found = nullptr;
  for (Object& one : all) {
    const std::string& name = name_of_object(one);
    const bool is_longer = found == nullptr || name.size() > name_of_object(*found).size();
    if (path.starts_with(name + ".") && is_longer) found = &one;
  }
  if (found == nullptr)
    return fail(ErrorCode::kNotFound,
                "there is nothing named " + escape_for_terminal(path.substr(0, path.find('.'))));
  return read_settings({{path.substr(name_of_object(*found).size() + 1), value}},
                       [&](TomlTable& table) { read(table, *found); });
}

Result<void> set_path(ClusterConfig& config, const std::string& kind, const std::string& path,
                      const std::string& value) {
  if (kind == "queue") return set_in(config.queues, path, value, read_queue);
  if (kind == "account") return set_in(config.accounts, path, value, read_account);
  if (kind == "qos") return set_in(config.qos, path, value, read_qos);
  if (kind == "user") return set_in(config.users, path, value, read_user);
  if (kind == "licence") return set_in(config.licences, path, value, read_licence);
  if (kind == "gpu_weight") return set_in(config.priority.gpu_types, path, value, read_gpu_weight);
  if (kind == "switch") {
    const Result<void> set = set_in(config.switches, path, value, read_switch);
    return set ? check_switches(config.switches) : set;
  }
  if (kind == "priority")
    return read_settings({{path, value}}, [&](TomlTable& t) { read_priority(t, config.priority); });
  if (kind == "limits")
    return read_settings({{path, value}}, [&](TomlTable& t) { read_limits(t, config.limits); });
  return invalid("is no setting that decides who starts; KEY is one of " + settable_keys());
}

}  // namespace

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + "\"";
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quoted_text(name);
  return "[" + text + "]";
}

Result<void> read_settings(const std::vector<Setting>& settings,
                           const std::function<void(TomlTable&)>& read) {
  const auto text = toml_of(settings);
  if (!text) return text.error();
  TomlDocument document;
  if (const auto parsed = document.parse(*text, "set"); !parsed)
    return invalid("settings: " + without_place(parsed.error().message));
  TomlTable root = TomlTable::root(document);
  TomlTable table = root.table("object");
  read(table);
  if (document.problems().empty()) return {};
  return invalid(without_place(document.problems().front()));
}

Result<void> set_key(ClusterConfig& config, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return bad(text, "must be KEY=VALUE; KEY is one of " + settable_keys());
  const std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  if (key == "queue_default" || key == "account_default") {
    (key == "queue_default" ? config.queue_default : config.account_default) = value;
    return {};
  }
  const std::size_t dot = key.find('.');
  const std::string path = dot == std::string::npos ? "" : key.substr(dot + 1);
  const Result<void> set = set_path(config, key.substr(0, dot), path, value);
  if (set) return {};
  return fail(set.error().code, bad(text, set.error().message).message);
}

std::string settable_keys() {
  return "queue.NAME.*, account.NAME.*, qos.NAME.*, user.NAME.*, licence.NAME.total, "
         "switch.NAME.*, gpu_weight.TYPE.milli, priority.*, limits.*, queue_default, "
         "account_default, as in the configuration file";
}

}  // namespace muster
