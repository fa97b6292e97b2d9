// Checks and stores what a submit request carries.
#include "controller/host/submission.h"

#include <algorithm>
#include <numeric>

#include "base/message/codec.h"

namespace muster {

namespace {

constexpr std::string_view kPatternLetters = "jAaxuNntr%";

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Result<void> check_pattern(const char* option, const std::string& pattern) {
  if (pattern.size() > kPathBytesMax || has_nul(pattern) ||
      pattern.find('\n') != std::string::npos) {
    return fail(ErrorCode::kInvalid,
                std::string(option) + ": a path of at most 4095 bytes without line ends is needed");
  }
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    ++i;
    if (i == pattern.size() || kPatternLetters.find(pattern[i]) == std::string_view::npos) {
      return fail(ErrorCode::kInvalid,
                  std::string(option) + ": unknown pattern; use %j %A %a %x %u %N %n %t %r or %%");
    }
  }
  return {};
}

Result<void> check_launch(const LaunchSpec& launch) {
  if (!launch.cwd.starts_with("/") || launch.cwd.size() > kPathBytesMax || has_nul(launch.cwd)) {
    return fail(ErrorCode::kInvalid, "chdir: an absolute path of at most 4095 bytes is needed");
  }
  std::size_t bytes = 0;
  for (const std::string& word : launch.argv) {
    if (has_nul(word)) return fail(ErrorCode::kInvalid, "an argument holds a NUL byte");
    bytes += word.size() + 1;
  }
  if (bytes > kArgvBytesMax)
    return fail(ErrorCode::kLimit, "the arguments are longer than 128 KiB");
  if (launch.is_command && launch.argv.empty())
    return fail(ErrorCode::kInvalid, "no command was given after --");
  if (launch.umask_bits > 0777) return fail(ErrorCode::kInvalid, "umask: must be at most 0777");
  if (const auto output = check_pattern("output", launch.output); !output) return output;
  return check_pattern("error", launch.error);
}

Result<void> check_environment(const std::string& environment) {
  if (environment.size() > kEnvironmentBytesMax) {
    return fail(ErrorCode::kLimit,
                "the environment is larger than 256 KiB; choose variables with --export");
  }
  const auto count = std::count(environment.begin(), environment.end(), '\0');
  if (static_cast<std::size_t>(count) > kEnvironmentVariablesMax) {
    return fail(ErrorCode::kLimit,
                "the environment has more than 4096 variables; choose some with --export");
  }
  if (!environment.empty() && environment.back() != '\0')
    return fail(ErrorCode::kInvalid, "environment: not terminated");
  return {};
}

Result<void> check_job(const SubmitJob& job, const SubmitBody& body) {
  if (job.script > body.scripts.size() || job.environment > body.environments.size()) {
    return fail(ErrorCode::kInvalid,
                "the request names a script or an environment that it does not hold");
  }
  if (!job.launch.is_command && job.script == 0)
    return fail(ErrorCode::kInvalid, "no script and no command was given");
  return check_launch(job.launch);
}

Result<std::vector<BlobRef>> store(const std::vector<std::string>& contents, bool dry_run,
                                   BlobStore& blobs) {
  std::vector<BlobRef> refs;
  for (const std::string& content : contents) {
    if (dry_run || content.empty()) {
      refs.emplace_back();
      continue;
    }
    auto ref = blobs.put(content);
    if (!ref) return ref.error();
    refs.push_back(*ref);
  }
  return refs;
}

}  // namespace

Result<void> check_submission(const SubmitBody& body) {
  if (body.jobs.empty()) return fail(ErrorCode::kInvalid, "submit: no job was given");
  if (body.jobs.size() > kBulkJobsMax) {
    return fail(ErrorCode::kLimit,
                "submit: at most 10,000 jobs travel in one request; send several");
  }
  for (const std::string& script : body.scripts) {
    if (script.empty()) return fail(ErrorCode::kInvalid, "submit: the script is empty");
    if (script.size() > kScriptBytesMax)
      return fail(ErrorCode::kLimit, "submit: the script is larger than 1 MiB");
    if (has_nul(script))
      return fail(ErrorCode::kInvalid, "submit: the script holds a NUL byte; is it a program?");
  }
  for (const std::string& environment : body.environments) {
    if (const auto checked = check_environment(environment); !checked) return checked;
  }
  for (std::size_t i = 0; i < body.jobs.size(); ++i) {
    const auto checked = check_job(body.jobs[i], body);
    if (checked) continue;
    const std::string where = body.jobs.size() == 1
                                  ? "submit: "
                                  : "submit: job " + std::to_string(i + 1) + " of the request: ";
    return fail(checked.error().code, where + checked.error().message);
  }
  return {};
}

Result<std::vector<NewJob>> new_jobs(SubmitBody body, const std::vector<Gid>& groups,
                                     BlobStore& blobs) {
  const auto scripts = store(body.scripts, body.dry_run, blobs);
  if (!scripts) return scripts.error();
  const auto environments = store(body.environments, body.dry_run, blobs);
  if (!environments) return environments.error();
  std::vector<NewJob> jobs;
  jobs.reserve(body.jobs.size());
  for (SubmitJob& from : body.jobs) {
    NewJob job;
    job.spec = std::move(from.spec);
    job.spec.first_node_only = from.launch.mode == LaunchMode::kScript;
    job.launch = encode(from.launch);
    if (from.script != 0) job.script = (*scripts)[from.script - 1];
    if (from.environment != 0) job.environment = (*environments)[from.environment - 1];
    job.groups = groups;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace muster
