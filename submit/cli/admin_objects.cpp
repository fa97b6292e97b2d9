// gpuadmin queue, account, qos, user, licence and limit: what jobs may ask for, changed at run
// time; and config export.
#include <algorithm>

#include "base/message/json.h"
#include "base/types/text.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/table.h"

namespace muster {

namespace {

using Words = std::span<const std::string>;

Result<ObjectKind> kind_of(std::string_view word) {
  ObjectKind kind{};
  if (enum_from_name(word, kind) && kind != ObjectKind::kLicence) return kind;
  return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(word.substr(0, 64)) +
                                       "\" is not one of queue, account, qos, user");
}

// "time_max=12h"
Result<ObjectSetting> setting_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(word.substr(0, 64)) +
                                         "\" is not KEY=VALUE, such as time_max=12h");
  }
  return ObjectSetting{word.substr(0, equals), word.substr(equals + 1)};
}

int send_change(const Invocation& call, const ObjectChangeBody& body) {
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(Verb::kObjectChange, body);
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  constexpr std::array<std::string_view, 3> kDone{"Added", "Changed", "Removed"};
  print(std::string(kDone[static_cast<std::size_t>(body.verb)]) + " " +
        std::string(name_of(body.kind)) + " " + escape_for_terminal(body.name) + "\n");
  for (const std::string& note : reply->notes) print_note(call, note);
  return kExitOk;
}

// "gpus" and "user.gpus" as the configuration calls them.
std::string limit_key(const std::string& key) {
  if (key.starts_with("user.")) return "user_limits." + key.substr(5);
  if (key.starts_with("account.")) return "account_limits." + key.substr(8);
  return "limits." + key;
}

std::string limit_name(const std::string& key) {
  if (key.starts_with("user_limits.")) return "user." + key.substr(12);
  if (key.starts_with("account_limits.")) return "account." + key.substr(15);
  return key.starts_with("limits.") ? key.substr(7) : "";
}

constexpr const char* kNoLimit = "0";

Result<ObjectsReply> ask_objects(Caller& caller) {
  return caller.ask<ObjectsReply>(Verb::kObjects, NoBody{});
}

std::string settings_text(const ObjectRow& row, bool limits_only) {
  std::string text;
  for (const ObjectSetting& setting : row.settings) {
    const std::string limit = limit_name(setting.key);
    if (limits_only && limit.empty()) continue;
    text += (text.empty() ? "" : " ") + (limits_only ? limit : setting.key) + "=" + setting.value;
  }
  return text;
}

int show_rows(const Invocation& call, std::optional<ObjectKind> kind) {
  Caller caller(call);
  auto reply = ask_objects(caller);
  if (!reply) return fail_command(call, reply.error());
  const bool limits_only = !kind;
  std::erase_if(reply->rows, [&](const ObjectRow& row) {
    return limits_only ? settings_text(row, true).empty() : row.kind != *kind;
  });
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  Table table({{"KIND"},
               {"NAME"},
               {"SET BY", Align::kLeft, 0, 1},
               {limits_only ? "LIMITS" : "SETTINGS", Align::kLeft, 20}});
  for (const ObjectRow& row : reply->rows) {
    const std::string text = settings_text(row, limits_only);
    table.add({std::string(name_of(row.kind)), row.name + (row.is_default ? "*" : ""),
               row.at_run_time ? "gpuadmin" : "file", text.empty() ? "-" : text});
  }
  print(table.render(describe_stdout()));
  return kExitOk;
}

// The keys whose limits an object has, for taking them away.
Result<std::vector<std::string>> limit_keys(Caller& caller, ObjectKind kind,
                                            const std::string& name) {
  auto reply = ask_objects(caller);
  if (!reply) return reply.error();
  std::vector<std::string> keys;
  for (const ObjectRow& row : reply->rows) {
    if (row.kind != kind || row.name != name) continue;
    for (const ObjectSetting& setting : row.settings) {
      if (!limit_name(setting.key).empty()) keys.push_back(setting.key);
    }
  }
  if (keys.empty()) {
    return fail(ErrorCode::kNotFound,
                std::string(name_of(kind)) + " " + escape_for_terminal(name) + " has no limits");
  }
  return keys;
}

std::string toml_of(const ObjectsReply& objects) {
  std::string text = "# Queues, accounts, QOS, users and licences as they are in force.\n";
  for (const ObjectRow& row : objects.rows) {
    if (row.is_default)
      text += std::string(name_of(row.kind)) + "_default = \"" + row.name + "\"\n";
  }
  for (const ObjectRow& row : objects.rows) {
    text += "\n[[" + std::string(name_of(row.kind)) + "]]\nname = \"" + row.name + "\"\n";
    for (const ObjectSetting& setting : row.settings)
      text += setting.key + " = " + setting.value + "\n";
  }
  return text;
}

}  // namespace

int object_change(const Invocation& call, std::string_view verb, Words words) {
  ObjectChangeBody body;
  const std::size_t space = verb.find(' ');
  enum_from_name(verb.substr(0, space), body.kind);
  enum_from_name(verb.substr(space + 1), body.verb);
  if (words.empty()) return fail_usage(call, std::string(verb) + ": which one? Give its name");
  body.name = words[0];
  for (const std::string& word : words.subspan(1)) {
    auto setting = setting_of(word);
    if (!setting) return fail_usage(call, std::string(verb) + ": " + setting.error().message);
    body.settings.push_back(*std::move(setting));
  }
  if (body.verb == ObjectVerb::kRemove && !body.settings.empty())
    return fail_usage(call, std::string(verb) + ": unexpected \"" +
                                escape_for_terminal(words[1].substr(0, 64)) + "\"");
  return send_change(call, body);
}

int object_list(const Invocation& call, std::string_view verb, Words words) {
  if (!words.empty())
    return fail_usage(call, std::string(verb) + ": unexpected \"" +
                                escape_for_terminal(words[0].substr(0, 64)) + "\"");
  ObjectKind kind{};
  const bool is_kind = enum_from_name(verb.substr(0, verb.find(' ')), kind);
  return show_rows(call, is_kind ? std::optional(kind) : std::nullopt);
}

int limit_change(const Invocation& call, std::string_view verb, Words words) {
  const bool removes = verb == "limit remove";
  if (words.size() < 2) {
    return fail_usage(call, std::string(verb) + ": whose? For example gpuadmin " +
                                std::string(verb) + " queue day " +
                                (removes ? "user.gpus" : "user.gpus=8"));
  }
  auto kind = kind_of(words[0]);
  if (!kind) return fail_usage(call, std::string(verb) + ": " + kind.error().message);
  ObjectChangeBody body{ObjectVerb::kSet, *kind, words[1], {}};
  for (const std::string& word : words.subspan(2)) {
    if (removes) {
      const std::string key = limit_key(word);
      body.settings.push_back({key, kNoLimit});
      continue;
    }
    auto setting = setting_of(word);
    if (!setting) return fail_usage(call, std::string(verb) + ": " + setting.error().message);
    body.settings.push_back({limit_key(setting->key), setting->value});
  }
  if (removes && body.settings.empty()) {
    Caller caller(call);
    auto keys = limit_keys(caller, body.kind, body.name);
    if (!keys) return fail_command(call, keys.error());
    for (const std::string& key : *keys) body.settings.push_back({key, kNoLimit});
  }
  if (body.settings.empty())
    return fail_usage(call, std::string(verb) + ": which limit? Give KEY=VALUE, such as gpus=8");
  return send_change(call, body);
}

int config_export(const Invocation& call, std::string_view verb, Words words) {
  if (!words.empty())
    return fail_usage(call, std::string(verb) + ": unexpected \"" +
                                escape_for_terminal(words[0].substr(0, 64)) + "\"");
  Caller caller(call);
  auto reply = ask_objects(caller);
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : toml_of(*reply));
  return kExitOk;
}

}  // namespace muster
