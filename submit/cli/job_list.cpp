// Parsing of job ids and signals.
#include "submit/cli/job_list.h"

#include <array>
#include <csignal>

#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/script/array.h"
#include "submit/script/value.h"

namespace muster {

namespace {

Error bad_job(std::string_view word) {
  return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(word.substr(0, 64)) +
                                       "\" is not a job such as 17, 17_3 or 17_[0-9]");
}

// Commas inside brackets belong to the element list.
std::vector<std::string_view> split_jobs(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') inside = true;
    if (text[at] == ']') inside = false;
    if (text[at] != ',' || inside) continue;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Result<void> add_elements(JobId job, std::string_view list, std::vector<JobChoice>& out) {
  auto array = parse_array(list);
  if (!array) return array.error();
  for (const IndexRange& range : array->ranges) {
    for (std::uint64_t at = range.first; at <= range.last; at += range.step) {
      if (out.size() == kJobChoicesMax) {
        return fail(ErrorCode::kLimit, "more than " + std::to_string(kJobChoicesMax) +
                                           " elements; name the whole array instead");
      }
      out.push_back({job, Element{static_cast<std::uint32_t>(at)}});
    }
  }
  return {};
}

Result<void> add_jobs(std::string_view word, std::vector<JobChoice>& out) {
  const std::size_t underscore = word.find('_');
  auto job = parse_count(word.substr(0, underscore), 1, UINT64_MAX);
  if (!job) return bad_job(word);
  if (underscore == std::string_view::npos) {
    if (out.size() == kJobChoicesMax)
      return fail(ErrorCode::kLimit,
                  "more than 100000 jobs; choose them with --name, --queue or --all");
    out.push_back({JobId{*job}, std::nullopt});
    return {};
  }
  std::string_view list = word.substr(underscore + 1);
  const bool bracketed = list.size() > 2 && list.front() == '[' && list.back() == ']';
  if (bracketed) list = list.substr(1, list.size() - 2);
  if (!bracketed && list.find_first_not_of("0123456789") != std::string_view::npos)
    return bad_job(word);
  if (auto added = add_elements(JobId{*job}, list, out); !added) {
    return added.error().code == ErrorCode::kLimit ? added : bad_job(word);
  }
  return {};
}

struct NamedSignal {
  std::string_view name;
  int number;
};
constexpr std::array kSignals{
    NamedSignal{"HUP", SIGHUP},    NamedSignal{"INT", SIGINT},   NamedSignal{"QUIT", SIGQUIT},
    NamedSignal{"ABRT", SIGABRT},  NamedSignal{"KILL", SIGKILL}, NamedSignal{"USR1", SIGUSR1},
    NamedSignal{"USR2", SIGUSR2},  NamedSignal{"ALRM", SIGALRM}, NamedSignal{"TERM", SIGTERM},
    NamedSignal{"CONT", SIGCONT},  NamedSignal{"STOP", SIGSTOP}, NamedSignal{"TSTP", SIGTSTP},
    NamedSignal{"WINCH", SIGWINCH}};

}  // namespace

Result<std::vector<JobChoice>> parse_jobs(std::span<const std::string> words) {
  std::vector<JobChoice> jobs;
  for (const std::string& word : words) {
    for (const std::string_view part : split_jobs(word)) {
      if (auto added = add_jobs(part, jobs); !added) return added.error();
    }
  }
  return jobs;
}

Result<JobChoice> parse_job(std::string_view word) {
  std::vector<JobChoice> jobs;
  if (auto added = add_jobs(word, jobs); !added) return added.error();
  if (jobs.size() != 1)
    return fail(ErrorCode::kInvalid, "one job is meant here, not " + std::to_string(jobs.size()));
  return jobs.front();
}

std::string to_text(const JobChoice& choice) {
  std::string text = std::to_string(choice.job.value);
  if (choice.element) text += "_" + std::to_string(choice.element->value);
  return text;
}

std::string job_text(const JobRow& row) {
  const std::string job = std::to_string(row.job.value);
  if (!row.is_array) return job;
  if (row.elements.empty()) return job + "_" + std::to_string(row.element.value);
  return job + "_[" + row.elements + "]";
}

Result<std::int32_t> parse_signal(std::string_view text) {
  if (auto number = parse_count(text, 1, static_cast<std::uint64_t>(SIGRTMAX)); number) {
    return static_cast<std::int32_t>(*number);
  }
  std::string name(text.starts_with("SIG") ? text.substr(3) : text);
  std::array<std::string_view, kSignals.size()> names;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i].name == name) return kSignals[i].number;
    names[i] = kSignals[i].name;
  }
  std::string why = "\"" + escape_for_terminal(text.substr(0, 32)) +
                    "\" is not a signal such as TERM, USR1 or 10";
  const std::string_view near = nearest_match(name, names);
  if (!near.empty()) why += "; did you mean " + std::string(near) + "?";
  return fail(ErrorCode::kInvalid, why);
}

}  // namespace muster
