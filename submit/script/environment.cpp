// The environment of a job out of the submitter's.
#include "submit/script/environment.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/types/job_spec.h"
#include "base/types/text.h"
#include "submit/script/value.h"

namespace muster {

namespace {

Error invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

bool is_shell_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
}

// An exported shell function lives in BASH_FUNC_name%%.
bool is_function_of(std::string_view key, std::string_view name) {
  return key == "BASH_FUNC_" + std::string(name) + "%%";
}

// Set by the scheduler for a rank of an outer job.
bool belongs_to_a_rank(std::string_view name) {
  constexpr std::string_view kNames[] = {"RANK",
                                         "LOCAL_RANK",
                                         "WORLD_SIZE",
                                         "LOCAL_WORLD_SIZE",
                                         "GROUP_RANK",
                                         "NODE_RANK",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "CUDA_VISIBLE_DEVICES",
                                         "CUDA_DEVICE_ORDER",
                                         "OMP_NUM_THREADS",
                                         "TORCHELASTIC_ERROR_FILE"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// MUSTER_GATEWAY and MUSTER_PYTHON are the user's own settings.
bool is_ours(std::string_view name) {
  return name.substr(0, 7) == "MUSTER_" && name != "MUSTER_GATEWAY" && name != "MUSTER_PYTHON";
}

bool wanted(std::string_view key, const ExportRule& rule, bool inside_a_job) {
  if (is_ours(key) || (inside_a_job && belongs_to_a_rank(key))) return false;
  if (rule.all) return true;
  return std::any_of(rule.names.begin(), rule.names.end(), [key](const std::string& name) {
    return key == name || is_function_of(key, name);
  });
}

std::string_view key_of(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  return equals == std::string_view::npos ? std::string_view() : entry.substr(0, equals);
}

}  // namespace

Result<ExportRule> parse_export(std::string_view text) {
  ExportRule rule;
  if (text == "ALL") return rule;
  rule.all = false;
  if (text == "NONE") return rule;
  for (const std::string_view item : split_text(text, ',')) {
    if (item == "ALL") {
      rule.all = true;
      continue;
    }
    if (item == "NONE") return invalid("NONE stands alone");
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    if (!is_shell_name(name)) {
      return invalid("\"" + escape_for_terminal(item.substr(0, 64)) +
                     "\" is not ALL, NONE, NAME or NAME=VALUE");
    }
    if (equals == std::string_view::npos) {
      rule.names.emplace_back(name);
    } else {
      rule.sets.emplace_back(name, item.substr(equals + 1));
    }
  }
  return rule;
}

Result<void> check_variable(std::string_view text) {
  if (is_shell_name(key_of(text))) return {};
  return invalid("\"" + escape_for_terminal(text.substr(0, 64)) + "\" is not NAME=VALUE");
}

Result<std::string> build_environment(std::span<const std::string_view> own, const ExportRule& rule,
                                      std::span<const std::string_view> sets) {
  std::map<std::string, std::string, std::less<>> last_words;
  for (const auto& [name, value] : rule.sets) last_words[name] = value;
  for (const std::string_view entry : sets) {
    last_words[std::string(key_of(entry))] = std::string(entry.substr(key_of(entry).size() + 1));
  }
  const bool inside_a_job = std::any_of(own.begin(), own.end(), [](std::string_view entry) {
    return key_of(entry) == "MUSTER_JOB_ID";
  });
  std::set<std::string_view> seen;
  std::string out;
  for (const std::string_view entry : own) {
    const std::string_view key = key_of(entry);
    if (key.empty() || !wanted(key, rule, inside_a_job)) continue;
    if (last_words.find(key) != last_words.end() || !seen.insert(key).second) continue;
    out.append(entry).push_back('\0');
  }
  for (const auto& [name, value] : last_words)
    out.append(name).append("=").append(value).push_back('\0');
  const std::size_t count = seen.size() + last_words.size();
  if (count <= kEnvironmentVariablesMax && out.size() <= kEnvironmentBytesMax) return out;
  return fail(ErrorCode::kLimit, "the environment has " + std::to_string(count) +
                                     " variables and " + std::to_string(out.size()) +
                                     " bytes; the limits are " +
                                     std::to_string(kEnvironmentVariablesMax) + " and " +
                                     std::to_string(kEnvironmentBytesMax) +
                                     ": take less along with --export NAME,NAME,…");
}

}  // namespace muster
