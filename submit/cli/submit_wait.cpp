// Waiting for the end of a job.
#include "submit/cli/submit_wait.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "submit/cli/job_list.h"
#include "submit/cli/job_print.h"
#include "submit/cli/terminal.h"

namespace muster {

namespace {

constexpr useconds_t kBetweenLooksMicros = 200000;

char goodbye[128];  // Made before the handler may run.

void on_interrupt(int) {
  (void)!write(STDERR_FILENO, goodbye, std::strlen(goodbye));
  _exit(kExitInterrupted);
}

void mind_interrupts(JobId job) {
  const std::string text = "\ngpusubmit: job " + std::to_string(job.value) +
                           " goes on; gpucancel " + std::to_string(job.value) + " ends it\n";
  std::strncpy(goodbye, text.c_str(), sizeof(goodbye) - 1);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool all_ended(const std::vector<JobRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const JobRow& row) { return row.state == JobState::kEnded; });
}

// By what a row of a list tells; signals and the like are all 1.
int exit_status_of(const JobRow& row) {
  if (row.reason == name_of(CauseKind::kCompleted)) return kExitOk;
  return row.exit_status > 0 ? std::min(row.exit_status, 255) : kExitFailed;
}

int judge(const Invocation& call, Caller& caller, const std::vector<JobRow>& rows) {
  if (rows.size() == 1 && !rows.front().is_array) {
    auto job = caller.ask<JobReply>(Verb::kJob, JobBody{{rows.front().job, std::nullopt}});
    if (job && job->cause) {
      const int status = exit_status_of(*job->cause);
      if (status != kExitOk)
        print_note(call, "job " + job_text(job->row) + ": " + cause_text(*job->cause));
      return status;
    }
  }
  int status = kExitOk;
  for (const JobRow& row : rows) {
    if (exit_status_of(row) == kExitOk) continue;
    if (status == kExitOk) print_note(call, "job " + job_text(row) + ": " + row.reason);
    status = std::max(status, exit_status_of(row));
  }
  return status;
}

}  // namespace

int exit_status_of(const Cause& cause) {
  if (cause.kind == CauseKind::kCompleted) return kExitOk;
  if (cause.kind == CauseKind::kSignalled && cause.signal > 0)
    return 128 + std::min(cause.signal, 127);
  return cause.exit_status > 0 ? std::min(cause.exit_status, 255) : kExitFailed;
}

int wait_for_job(const Invocation& call, Caller& caller, JobId job) {
  mind_interrupts(job);
  JobsBody wanted;
  wanted.jobs.push_back({job, std::nullopt});
  wanted.include_ended = true;
  while (true) {
    // A watch tells when it is worth looking; only a look at all rows tells that the whole of an
    // array has ended.
    auto watched =
        caller.watch(wanted, [](const WatchReply& reply, bool) { return !all_ended(reply.rows); });
    if (!watched) return fail_command(call, watched.error());
    auto reply = caller.ask<JobsReply>(Verb::kJobs, wanted);
    if (!reply) return fail_command(call, reply.error());
    if (all_ended(reply->rows) && !reply->rows.empty()) return judge(call, caller, reply->rows);
    usleep(kBetweenLooksMicros);
  }
}

}  // namespace muster
