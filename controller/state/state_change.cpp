// What a question about a dump may change.
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/types/text.h"
#include "controller/state/state_run.h"

namespace muster {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_flag(std::string_view text, bool& into) {
  into = text == "true";
  return into || text == "false";
}

bool read_time(std::string_view text, Duration& into) {
  const Result<Duration> time = parse_duration(text);
  if (time) into = *time;
  return time.ok();
}

struct QueueKey {
  std::string_view name;
  bool (*set)(QueueConfig&, std::string_view);
};
constexpr std::array kQueueKeys{
    QueueKey{"priority",
             [](QueueConfig& q, std::string_view v) { return read_number(v, q.priority); }},
    QueueKey{"planned_starts",
             [](QueueConfig& q, std::string_view v) { return read_number(v, q.planned_starts); }},
    QueueKey{"order",
             [](QueueConfig& q, std::string_view v) { return enum_from_name(v, q.order); }},
    QueueKey{"predict", [](QueueConfig& q, std::string_view v) { return read_flag(v, q.predict); }},
    QueueKey{"preempt_after",
             [](QueueConfig& q, std::string_view v) { return read_time(v, q.preempt_after); }},
};

struct PriorityKey {
  std::string_view name;
  bool (*set)(PriorityConfig&, std::string_view);
};
constexpr std::array kPriorityKeys{
    PriorityKey{"fair_share",
                [](PriorityConfig& p, std::string_view v) { return read_number(v, p.fair_share); }},
    PriorityKey{"age", [](PriorityConfig& p, std::string_view v) { return read_number(v, p.age); }},
    PriorityKey{"size",
                [](PriorityConfig& p, std::string_view v) { return read_number(v, p.size); }},
    PriorityKey{"half_life",
                [](PriorityConfig& p, std::string_view v) { return read_time(v, p.half_life); }},
};

Error bad(const std::string& text, const std::string& why) {
  return fail(ErrorCode::kInvalid, "'" + escape_for_terminal(text) + "': " + why);
}

// Null: there is no such key.
template <class Keys, class Config>
std::optional<bool> set_in(const Keys& keys, Config& config, std::string_view key,
                           std::string_view value) {
  for (const auto& known : keys) {
    if (known.name == key) return known.set(config, value);
  }
  return std::nullopt;
}

}  // namespace

Result<AddedNodes> parse_added_nodes(const std::string& text) {
  AddedNodes added;
  const std::size_t times = text.find('x');
  if (times == std::string::npos || times + 1 == text.size() ||
      !read_number(std::string_view(text).substr(0, times), added.count) || added.count == 0 ||
      added.count > kNodesAddedMax)
    return bad(
        text, "say how many and like which, as in 4xn1; at most " + std::to_string(kNodesAddedMax));
  added.like = text.substr(times + 1);
  return added;
}

Result<void> set_key(ClusterConfig& config, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.rfind('.', equals);
  if (equals == std::string::npos || dot == std::string::npos)
    return bad(text, "must be KEY=VALUE; KEY is one of " + settable_keys());
  const std::string whose = text.substr(0, dot);
  const std::string key = text.substr(dot + 1, equals - dot - 1);
  const std::string value = text.substr(equals + 1);
  std::optional<bool> done;
  if (whose == "priority") done = set_in(kPriorityKeys, config.priority, key, value);
  if (whose.starts_with("queue.")) {
    const std::string name = whose.substr(6);
    QueueConfig* queue = nullptr;
    for (QueueConfig& known : config.queues) {
      if (known.name == name) queue = &known;
    }
    if (queue == nullptr) return bad(text, "there is no queue " + escape_for_terminal(name));
    done = set_in(kQueueKeys, *queue, key, value);
  }
  if (!done) return bad(text, "KEY must be one of " + settable_keys());
  return *done ? Result<void>() : Result<void>(bad(text, "the key does not take that value"));
}

std::string settable_keys() {
  std::string names;
  for (const QueueKey& key : kQueueKeys) names += "queue.NAME." + std::string(key.name) + ", ";
  for (const PriorityKey& key : kPriorityKeys) names += "priority." + std::string(key.name) + ", ";
  return names.substr(0, names.size() - 2);
}

}  // namespace muster
