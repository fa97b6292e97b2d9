// The policy's JSON. Its answer is a site's, so every value is checked before it is used.
#include "controller/host/submit_policy.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/message/json.h"
#include "base/types/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::size_t kWordsMax = 256;
constexpr std::int64_t kPriorityMost = 1000000;
constexpr std::int64_t kSecondsMost = std::int64_t{3650} * 86400;

void write_groups(JsonWriter& writer, const std::vector<std::string>& groups) {
  writer.key("groups");
  writer.begin_array();
  for (const std::string& group : groups) writer.string(group);
  writer.end_array();
}

Error malformed(const std::string& what) {
  return fail(ErrorCode::kInvalid, "answered with nonsense: " + escape_for_terminal(what));
}

// Edits in words, each counted once for every job that it changed.
class Edits {
 public:
  void add(const std::string& what) {
    const auto [at, is_new] = counts_.emplace(what, 0U);
    if (is_new) order_.push_back(what);
    ++at->second;
  }
  std::vector<std::string> lines(std::size_t jobs) const {
    std::vector<std::string> lines;
    for (const std::string& what : order_) {
      if (lines.size() == kEditNotesMax) {
        lines.push_back("the site's policy made " + std::to_string(order_.size() - kEditNotesMax) +
                        " other kinds of edits");
        break;
      }
      std::string line = "the site's policy set " + what;
      if (jobs > 1) line += " for " + std::to_string(counts_.at(what)) + " of the jobs";
      lines.push_back(line);
    }
    return lines;
  }

 private:
  std::map<std::string, std::size_t> counts_;
  std::vector<std::string> order_;
};

Result<std::string> text_of(const std::string& key, const Json& value) {
  if (!value.is_string()) return malformed(key + " must be a text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kTextBytesMax) return malformed(key + " is too long");
  return text;
}

Result<std::int64_t> number_of(const std::string& key, const Json& value, std::int64_t least,
                               std::int64_t most) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kSecondsMost));
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  if (!fits || number < least || number > most) {
    return malformed(key + " must be a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most));
  }
  return number;
}

Result<std::vector<std::string>> words_of(const std::string& key, const Json& value) {
  std::vector<std::string> words;
  if (!value.is_array() || value.size() > kWordsMax)
    return malformed(key + " must be a list of texts");
  for (const Json& item : value) {
    auto word = text_of(key, item);
    if (!word) return word.error();
    words.push_back(std::move(*word));
  }
  return words;
}

template <class T>
void set(T& field, T value, const std::string& what, Edits& edits) {
  if (field == value) return;
  field = std::move(value);
  edits.add(what);
}

Result<void> edit_group(const Json& edit, Group& group, Edits& edits) {
  if (!edit.is_object()) return malformed("groups must be a list of objects");
  for (const auto& [key, value] : edit.items()) {
    std::vector<std::string>* field = nullptr;
    if (key == "gpu_types") field = &group.gpu_types;
    if (key == "features") field = &group.features;
    if (key == "nodes_excluded") field = &group.nodes_excluded;
    if (field == nullptr) {
      return malformed("a group has no '" + key + "': gpu_types, features or nodes_excluded");
    }
    auto words = words_of(key, value);
    if (!words) return words.error();
    std::string shown;
    for (const std::string& word : *words) shown += (shown.empty() ? "" : ",") + word;
    set(*field, std::move(*words), key + " to " + escape_for_terminal(shown), edits);
  }
  return {};
}

Result<void> edit_groups(const Json& value, JobSpec& spec, Edits& edits) {
  if (!value.is_array() || value.size() != spec.groups.size())
    return malformed("groups must be a list as long as the job's");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto edited = edit_group(value[i], spec.groups[i], edits);
    if (!edited) return edited;
  }
  return {};
}

Result<void> edit_text(const std::string& key, const Json& value, JobSpec& spec, Edits& edits) {
  auto text = text_of(key, value);
  if (!text) return text.error();
  std::string& field = key == "name"    ? spec.name
                       : key == "queue" ? spec.queue
                       : key == "qos"   ? spec.qos
                                        : spec.account;
  const std::string what = key + " to " + escape_for_terminal(*text);
  set(field, std::move(*text), what, edits);
  return {};
}

Result<void> edit_number(const std::string& key, const Json& value, JobSpec& spec, Edits& edits) {
  const bool is_time = key == "time_limit";
  const auto number = is_time ? number_of(key, value, 1, kSecondsMost)
                              : number_of(key, value, -kPriorityMost, kPriorityMost);
  if (!number) return number.error();
  if (is_time) {
    const Duration limit = seconds(*number);
    set(spec.time_limit, limit, key + " to " + to_text(limit), edits);
  } else {
    set(spec.priority, static_cast<std::int32_t>(*number), key + " to " + std::to_string(*number),
        edits);
  }
  return {};
}

Result<void> edit_job(const Json& edit, JobSpec& spec, Edits& edits) {
  if (!edit.is_object()) return malformed("jobs must be a list of objects");
  for (const auto& [key, value] : edit.items()) {
    Result<void> edited{};
    if (key == "name" || key == "queue" || key == "account" || key == "qos") {
      edited = edit_text(key, value, spec, edits);
    } else if (key == "time_limit" || key == "priority") {
      edited = edit_number(key, value, spec, edits);
    } else if ((key == "hold" || key == "requeue") && value.is_boolean()) {
      const bool wanted = value.get<bool>();
      set(key == "hold" ? spec.hold : spec.requeue, wanted,
          key + (wanted ? " to true" : " to false"), edits);
    } else if (key == "groups") {
      edited = edit_groups(value, spec, edits);
    } else {
      edited = malformed("a job has no '" + key +
                         "' that may be set: name, queue, account, qos, time_limit, priority, "
                         "hold, requeue, groups");
    }
    if (!edited) return edited;
  }
  return {};
}

// The site's line, when the answer is a refusal.
Result<void> refused(const Json& answer) {
  const auto at = answer.find("refuse");
  if (at == answer.end()) return {};
  const auto line = text_of("refuse", *at);
  if (!line) return line.error();
  if (line->empty() || line->size() > kRefusalBytesMax || line->find('\n') != std::string::npos)
    return malformed("refuse must be one line of at most 500 bytes");
  return fail(ErrorCode::kConflict, "submit: " + escape_for_terminal(*line));
}

}  // namespace

std::string policy_question(const Requester& who, const std::vector<std::string>& groups,
                            const SubmitBody& body) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("version");
  writer.number(std::uint64_t{1});
  writer.key("user");
  writer.string(who.user);
  writer.key("uid");
  writer.number(std::uint64_t{who.uid.value});
  write_groups(writer, groups);
  writer.key("dry_run");
  writer.boolean(body.dry_run);
  writer.key("jobs");
  writer.begin_array();
  for (const SubmitJob& job : body.jobs) {
    writer.begin_object();
    writer.key("spec");
    writer.raw(to_json(job.spec));
    writer.key("script");
    writer.string(job.launch.script_name);
    writer.key("command");
    json::write(writer, job.launch.argv);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return text + "\n";
}

Result<std::vector<std::string>> apply_policy(std::string_view answer, SubmitBody& body) {
  const Json parsed = Json::parse(answer.begin(), answer.end(), nullptr, false);
  if (!parsed.is_object()) return malformed("not a JSON object");
  for (const auto& [key, value] : parsed.items()) {
    if (key != "refuse" && key != "jobs")
      return malformed("'" + key + "' is neither \"refuse\" nor \"jobs\"");
  }
  if (const auto line = refused(parsed); !line) return line.error();
  const auto jobs = parsed.find("jobs");
  if (jobs == parsed.end()) return std::vector<std::string>{};
  if (!jobs->is_array() || jobs->size() != body.jobs.size()) {
    return malformed("\"jobs\" must be a list of " + std::to_string(body.jobs.size()) +
                     " objects, as many as were submitted");
  }
  Edits edits;
  for (std::size_t i = 0; i < body.jobs.size(); ++i) {
    const auto edited = edit_job((*jobs)[i], body.jobs[i].spec, edits);
    if (!edited) return edited.error();
  }
  return edits.lines(body.jobs.size());
}

}  // namespace muster
