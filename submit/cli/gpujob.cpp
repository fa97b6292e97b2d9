// gpujob: holds, releases, requeues, moves to the top, and changes jobs.
#include <array>

#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/selection.h"
#include "submit/cli/when.h"
#include "submit/script/time_ahead.h"

namespace muster {
namespace {

constexpr std::array kOptions{kSelectName, kSelectUser, kSelectQueue, kSelectAll};

constexpr Command kCommand{
    .name = "gpujob",
    .summary = "hold, release, requeue or change jobs",
    .synopsis = "gpujob hold|release|requeue|top [options] JOB…\ngpujob set JOB… KEY=VALUE…",
    .options = kOptions,
    .notes =
        "Verbs:\n"
        "  hold      keep pending jobs from starting\n"
        "  release   let held jobs start again\n"
        "  requeue   stop a running job and put it back into the queue: its next attempt\n"
        "  top       to the head of your own pending jobs\n"
        "  set       change KEY: time, queue, account, qos, priority, nice, name, reservation; "
        "users may only lower time\n"
        "            and priority, and raise nice; qos= takes the QOS away, reservation= the "
        "reservation;\n"
        "            dependency (afterok:17, or nothing), begin, deadline (16:00, now+2h, or none) "
        "of what waits;\n"
        "            throttle (elements of an array at once; 0: all)",
    .examples =
        "gpujob hold 17                # not now\n"
        "gpujob release --all          # all of yours\n"
        "gpujob set 17 time=30m        # a shorter limit starts sooner\n"
        "gpujob set 17 18 queue=night priority=-10\n"
        "gpujob set 17 dependency=afterok:12 begin=22:00\n"
        "gpujob set 17 throttle=4      # four elements of the array at once",
};

struct VerbName {
  std::string_view word;
  Verb verb;
  std::string_view done;
};
constexpr std::array kVerbs{
    VerbName{"hold", Verb::kHold, "Held"},
    VerbName{"release", Verb::kRelease, "Released"},
    VerbName{"requeue", Verb::kRequeue, "Requeued"},
    VerbName{"top", Verb::kTop, "Moved to the top"},
    VerbName{"set", Verb::kSet, "Changed"},
};

Result<std::int32_t> parse_priority(std::string_view text) {
  constexpr std::uint64_t kPriorityMax = 1000000;
  const bool negative = text.starts_with("-");
  auto size = parse_count(negative ? text.substr(1) : text, 0, kPriorityMax);
  if (!size) return size.error();
  const auto value = static_cast<std::int32_t>(*size);
  return negative ? -value : value;
}

// What a job waits for, into body. False when the key is another one.
Result<bool> take_gate(std::string_view key, std::string_view value, SelectBody& body) {
  if (key == "dependency") {
    auto depends =
        value.empty() || value == "none" ? Result<Depends>(Depends{}) : parse_depends(value);
    if (!depends) return depends.error();
    body.depends = *std::move(depends);
  } else if (key == "begin" || key == "deadline") {
    const bool away = value.empty() || value == "none" || (key == "begin" && value == "now");
    auto when = away ? Result<WallTime>(WallTime{}) : parse_time_ahead(value, wall_now());
    if (!when) return when.error();
    (key == "begin" ? body.begin : body.deadline) = *when;
  } else if (key == "throttle") {
    auto most = parse_count(value, 0, kArrayElementsMax);
    if (!most) return most.error();
    body.throttle = static_cast<std::uint32_t>(*most);
  } else {
    return false;
  }
  return true;
}

// "time=30m" into body.
Result<void> take_setting(std::string_view word, SelectBody& body) {
  constexpr std::array<std::string_view, 12> kKeys{
      "time", "queue",      "account", "qos",      "nice",     "priority",
      "name", "dependency", "begin",   "deadline", "throttle", "reservation"};
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  const auto bad = [&](const Error& error) {
    return fail(ErrorCode::kInvalid, std::string(key) + ": " + error.message);
  };
  if (key == "time") {
    auto time = parse_duration(value);
    if (!time) return bad(time.error());
    body.time_limit = *time;
  } else if (key == "queue" || key == "account") {
    if (auto fine = check_name(value); !fine) return bad(fine.error());
    (key == "queue" ? body.queue : body.account) = std::string(value);
  } else if (key == "reservation") {
    if (auto fine = check_name(value); !value.empty() && !fine) return bad(fine.error());
    body.reservation = std::string(value);
  } else if (key == "qos") {
    if (auto fine = check_name(value); !fine && !value.empty()) return bad(fine.error());
    body.qos = std::string(value);
  } else if (key == "priority" || key == "nice") {
    auto points = parse_priority(value);
    if (!points) return bad(points.error());
    (key == "nice" ? body.nice : body.priority) = *points;
  } else if (key == "name") {
    if (auto fine = check_job_name(value); !fine) return bad(fine.error());
    body.name = std::string(value);
  } else {
    const auto gate = take_gate(key, value, body);
    if (!gate) return bad(gate.error());
    if (*gate) return {};
    std::string why = "unknown setting \"" + escape_for_terminal(key.substr(0, 64)) + "\"";
    const std::string_view near = nearest_match(key, kKeys);
    why += near.empty() ? ": known are time, queue, account, qos, nice, priority, name, "
                          "dependency, begin, deadline, throttle, reservation"
                        : "; did you mean " + std::string(near) + "?";
    return fail(ErrorCode::kInvalid, why);
  }
  return {};
}

// The words after "set": jobs, then settings.
Result<std::vector<std::string>> take_settings(std::span<const std::string> words,
                                               SelectBody& settings) {
  std::vector<std::string> jobs;
  std::size_t found = 0;
  for (const std::string& word : words) {
    if (word.find('=') == std::string::npos) {
      jobs.push_back(word);
      continue;
    }
    if (auto taken = take_setting(word, settings); !taken) return taken.error();
    ++found;
  }
  if (found == 0)
    return fail(ErrorCode::kInvalid, "set: nothing to change; for example gpujob set 17 time=30m");
  return jobs;
}

const VerbName* find_verb(std::string_view word) {
  for (const VerbName& verb : kVerbs) {
    if (verb.word == word) return &verb;
  }
  return nullptr;
}

int run(const Invocation& call) {
  if (call.words.has_rest) return fail_usage(call, "unexpected \"--\"");
  if (call.words.operands.empty())
    return fail_usage(call, "what to do? One of hold, release, requeue, top, set");
  const std::string& word = call.words.operands.front();
  const VerbName* verb = find_verb(word);
  if (verb == nullptr) {
    std::array<std::string_view, kVerbs.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = kVerbs[i].word;
    const std::string_view near = nearest_match(word, words);
    return fail_usage(call, "unknown verb \"" + escape_for_terminal(word) + "\"" +
                                (near.empty() ? ": one of hold, release, requeue, top, set"
                                              : "; did you mean " + std::string(near) + "?"));
  }
  std::vector<std::string> jobs(call.words.operands.begin() + 1, call.words.operands.end());
  SelectBody settings;
  if (verb->verb == Verb::kSet) {
    auto rest = take_settings(jobs, settings);
    if (!rest) return fail_usage(call, rest.error().message);
    jobs = *std::move(rest);
  }
  auto body = selection_of(call, jobs);
  if (!body) return fail_usage(call, body.error().message);
  body->time_limit = settings.time_limit;
  body->queue = settings.queue;
  body->account = settings.account;
  body->priority = settings.priority;
  body->name = settings.name;
  body->qos = settings.qos;
  body->nice = settings.nice;
  body->depends = settings.depends;
  body->begin = settings.begin;
  body->deadline = settings.deadline;
  body->throttle = settings.throttle;
  body->reservation = settings.reservation;
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(verb->verb, *body);
  if (!reply) return fail_selection(call, caller, *body, reply.error());
  print_change(call, *reply, verb->done);
  return kExitOk;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
