// A batch of new jobs, all or none.
#include "controller/core/submit.h"

#include "controller/core/decide/admit.h"
#include "controller/core/decide/explain.h"
#include "controller/core/decide/submit_limits.h"
#include "controller/core/gate.h"

namespace muster {
namespace {

Result<void> check_batch(const Cluster& cluster, const SubmitJobs& command) {
  const LimitsConfig& limits = cluster.config().limits;
  const std::size_t jobs = command.jobs.size();
  if (jobs == 0) return fail(ErrorCode::kInvalid, "submit: no jobs");
  if (jobs > kBulkJobsMax) {
    return fail(ErrorCode::kLimit,
                "submit: " + std::to_string(jobs) + " jobs at once are more than " +
                    std::to_string(kBulkJobsMax) + "; send them in several requests");
  }
  if (command.request.uid != command.who.uid) {
    return fail(ErrorCode::kInvalid, "submit: the request id belongs to another user");
  }
  if (cluster.jobs_unfinished() + jobs > limits.jobs_max) {
    return fail(ErrorCode::kLimit, "submit: the cluster holds " +
                                       std::to_string(cluster.jobs_unfinished()) + " of at most " +
                                       std::to_string(limits.jobs_max) + " jobs; retry later");
  }
  const std::uint64_t own = cluster.jobs_unfinished(command.who.uid);
  if (own + jobs > limits.jobs_per_user_max) {
    return fail(ErrorCode::kLimit, "submit: user " + command.who.user + " has " +
                                       std::to_string(own) + " of at most " +
                                       std::to_string(limits.jobs_per_user_max) +
                                       " jobs; wait for some to end, or use an array");
  }
  return {};
}

// The same request again: the same answer, or a complaint when it is not the same.
bool answer_again(Step& step, const SubmitJobs& command) {
  const RecentRequest* known = step.cluster().find_request(command.request, step.now().at);
  if (known == nullptr) return false;
  if (known->count != command.jobs.size()) {
    step.refuse(fail(ErrorCode::kConflict, "submit: request id " + to_text(command.request.uuid) +
                                               " was used for another request"));
    return true;
  }
  for (std::uint32_t i = 0; i < known->count; ++i) {
    step.out().reply.jobs.push_back(JobId{known->first.value + i});
  }
  step.note("already accepted: this is the answer of the first time");
  return true;
}

std::string label(const SubmitJobs& command, std::size_t index) {
  if (command.jobs.size() == 1) return "";
  return "job " + std::to_string(index + 1) + " of " + std::to_string(command.jobs.size()) + ": ";
}

void note_dry_run(Step& step, const SubmitJobs& command, std::size_t index, const JobSpec& spec) {
  step.note(label(command, index) + sentence_for_new(step.cluster(), step.brain().board,
                                                     {command.who.uid, command.who.user, spec},
                                                     step.now().at));
}

}  // namespace

void submit_jobs(Step& step, const SubmitJobs& command) {
  if (!command.dry_run && answer_again(step, command)) return;
  if (const Result<void> checked = check_batch(step.cluster(), command); !checked) {
    return step.refuse(checked.error());
  }
  std::vector<JobSpec> specs;
  specs.reserve(command.jobs.size());
  SubmitLimits limits(step.cluster(), step.brain().board.limits);
  for (std::size_t i = 0; i < command.jobs.size(); ++i) {
    const JobSpec* before = specs.empty() ? nullptr : &specs.back();
    Result<JobSpec> spec =
        admit(step.cluster(), step.brain().board.ledger, command.who, command.jobs[i].spec, before);
    if (!spec) {
      return step.refuse(fail(spec.error().code, label(command, i) + spec.error().message));
    }
    const Result<void> within = limits.check(command.who.uid, command.who.user, terms_of(*spec));
    if (!within)
      return step.refuse(fail(within.error().code, label(command, i) + within.error().message));
    const Result<void> gate = check_gate(step.cluster(), command.who, *spec, step.now().wall);
    if (!gate)
      return step.refuse(fail(gate.error().code, label(command, i) + gate.error().message));
    specs.push_back(*std::move(spec));
  }
  const std::uint64_t first = step.cluster().job_next().value;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (command.dry_run) {
      note_dry_run(step, command, i, specs[i]);
      continue;
    }
    const NewJob& job = command.jobs[i];
    const JobId id{first + i};
    step.emit(JobSubmitted{id, command.who.uid, command.who.gid, command.who.user, job.groups,
                           command.request, static_cast<std::uint32_t>(i), std::move(specs[i]),
                           job.launch, job.script, job.environment, command.who.host});
    step.out().reply.jobs.push_back(id);
  }
  if (!command.dry_run) step.want_pass();
}

}  // namespace muster
